package installation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// operator returns an operator of an event store without a database.
func operator(t *testing.T, store string) installation.Operator {
	t.Helper()
	return installation.Operator{
		Installation: &installation.Installation{
			Backends: config.Backends{Eventstore: secret.Connection(store)}, Data: t.TempDir(),
		},
		Console: console.Console{Logger: slog.New(slog.DiscardHandler)},
	}
}

// TestHandlerHasTheRulesOfTheService checks that an operator restores no link that leads back to the service.
func TestHandlerHasTheRulesOfTheService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dev, given string
		want       domain.Kind // zero: restored
	}{
		"no address known":        {},
		"that of dev":             {dev: "http://sho.rt", want: domain.URLNotAllowed},
		"the given one":           {given: "https://sho.rt/", want: domain.URLNotAllowed},
		"given in place of dev's": {"http://sho.rt", "https://other.example", domain.KindOf(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := operator(t, eventstoretest.Serve(t).URL())
			err := o.WithLog(t.Context(), func(ctx context.Context, store *eventstore.Store) error {
				free, err := o.Handler(store, "")
				if err != nil {
					return err
				}
				owner := domain.Request{Account: "a", Command: uuid.New()}
				made := free.CreateURLs(ctx, owner, []commands.CreateURL{{LongURL: "https://sho.rt/x", CustomHash: "one"}})
				gone := free.DeleteURLs(ctx, owner, linkwrite.ByHash("one"))
				if err := errors.Join(made.Items[0].Err, gone[0].Err); err != nil {
					return err
				}
				o.ConsoleURL = test.dev
				bound, err := o.Handler(store, test.given)
				if err != nil {
					return err
				}
				return bound.RestoreURL(ctx, installation.NewRequest(), restoring.RestoreURL{Hash: "one"}).Err
			})
			if domain.KindOf(err) != test.want || usage.Is(err) != (err != nil) {
				t.Error(err)
			}
		})
	}
	if _, err := operator(t, "").Handler(nil, "https://sho rt"); !usage.Is(err) {
		t.Errorf("an address without a host: %v", err)
	}
}

// TestNothingIsErasedWithoutAMasterKey checks the error for an operator without the key of the service.
func TestNothingIsErasedWithoutAMasterKey(t *testing.T) {
	t.Parallel()
	o := operator(t, eventstoretest.Serve(t).URL())
	err := o.WithLog(t.Context(), func(ctx context.Context, store *eventstore.Store) error {
		_, err := o.Accounts(store).Erase(ctx, installation.NewRequest(), "erin")
		return err
	})
	if !errors.Is(err, accounts.ErrNothingSealed) || !strings.Contains(err.Error(), "--master-key") {
		t.Error(err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	o := operator(t, "esdb://db.example")
	for about, part := range map[error]string{
		projection.ErrUnknown:         "projections list",
		generation.ErrPaused:          "",
		projections.ErrOtherLog:       "",
		generation.ErrNotPrepared:     "serve or dev once",
		eventstore.ErrRefusesWrites:   "",
		eventstore.ErrUnavailable:     "db.example",
		eventstore.ErrPositionInvalid: "",
	} {
		if err := o.Explain(fmt.Errorf("it: %w", about)); !usage.Is(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: %v", about, err)
		}
	}
	if err := o.Explain(context.Canceled); !errors.Is(err, context.Canceled) || usage.Is(err) {
		t.Errorf("another error: %v", err)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	o := operator(t, "")
	if err := o.Locate(); !usage.Is(err) {
		t.Errorf("a folder of no dev: %v", err)
	}
	o.Eventstore, o.Database = "esdb://es", "postgres://db"
	if err := o.Locate(); err != nil || o.ConsoleURL != "" {
		t.Errorf("both are given: %v", err)
	}
	o.Database = "mysql://db"
	if err := o.Locate(); !usage.Is(err) || !strings.Contains(err.Error(), "--database") {
		t.Errorf("no database: %v", err)
	}
}

func TestRequestsOfOperators(t *testing.T) {
	t.Parallel()
	r, other := installation.NewRequest(), installation.NewRequest()
	if !r.Operator || r.Batch != r.Command.String() || r.ID == "" || r.Command == other.Command {
		t.Errorf("%+v, %+v", r, other)
	}
}
