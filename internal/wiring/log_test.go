package wiring_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/linkquota"
	"linkledger/commands/linkwrite"
	"linkledger/commands/people"
	"linkledger/commands/restoring"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/usage"
	"linkledger/internal/wiring"
	"linkledger/projections/keystore"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const base, loop = "https://sho.rt", "https://sho.rt/x"

// blocklist returns a file of blocked hosts.
func blocklist(t *testing.T, hosts string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "blocked")
	if err := os.WriteFile(file, []byte(hosts), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// newLog returns a log with the rules of a service, over an event store of its own. change may be nil.
func newLog(t *testing.T, blocked string, change func(*wiring.LogConfig)) *wiring.Log {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	rules, err := wiring.Destinations(base, blocklist(t, blocked), logger)
	if err != nil {
		t.Fatal(err)
	}
	cfg := wiring.LogConfig{Store: eventstoretest.New(t), Destinations: rules, Logger: logger}
	if change != nil {
		change(&cfg)
	}
	return wiring.NewLog(cfg)
}

func owner() domain.Request { return domain.Request{Account: "a", Command: uuid.New()} }

func operator() domain.Request { return domain.Request{Operator: true, Command: uuid.New()} }

func create(t *testing.T, log *wiring.Log, r domain.Request, link commands.CreateURL) error {
	t.Helper()
	return log.Commands.CreateURLs(t.Context(), r, []commands.CreateURL{link}).Items[0].Err
}

func wantKind(t *testing.T, err error, want domain.Kind) {
	t.Helper()
	if domain.KindOf(err) != want {
		t.Errorf("%v, want the kind %v", err, want)
	}
}

// TestOperatorsAreBoundToTheRules checks that operators and accounts are refused the same links.
func TestOperatorsAreBoundToTheRules(t *testing.T) {
	t.Parallel()
	log := newLog(t, "blocked.example", nil)
	for name, test := range map[string]struct {
		link commands.CreateURL
		want domain.Kind
	}{
		"reserved hash": {commands.CreateURL{LongURL: "https://example.com", CustomHash: "admin"}, domain.HashUnavailable},
		"blocked host":  {commands.CreateURL{LongURL: "https://blocked.example"}, domain.URLNotAllowed},
		"loop":          {commands.CreateURL{LongURL: loop}, domain.URLNotAllowed},
		"no URL":        {commands.CreateURL{LongURL: "nonsense"}, domain.InvalidURL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []domain.Request{owner(), {Account: "a", Operator: true, Command: uuid.New()}} {
				err := create(t, log, r, test.link)
				wantKind(t, err, test.want)
			}
		})
	}
}

// TestRestoresByOperators checks which rules a restoration by an operator is exempt from.
func TestRestoresByOperators(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		long             string
		account, operate domain.Kind // zero: restored
	}{
		"blocked since":   {"https://blocked.example/", domain.URLNotAllowed, domain.KindOf(nil)},
		"became the base": {loop, domain.URLNotAllowed, domain.URLNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := eventstoretest.New(t)
			before := wiring.NewLog(wiring.LogConfig{Store: store, Logger: slog.New(slog.DiscardHandler)})
			if err := create(t, before, owner(), commands.CreateURL{LongURL: test.long, CustomHash: "one"}); err != nil {
				t.Fatal(err)
			}
			if err := before.Commands.DeleteURLs(t.Context(), owner(), linkwrite.ByHash("one"))[0].Err; err != nil {
				t.Fatal(err)
			}
			log := newLog(t, "blocked.example", func(cfg *wiring.LogConfig) { cfg.Store = store })
			restore := restoring.RestoreURL{Hash: "one"}
			wantKind(t, log.Commands.RestoreURL(t.Context(), owner(), restore).Err, test.account)
			wantKind(t, log.Commands.RestoreURL(t.Context(), operator(), restore).Err, test.operate)
		})
	}
}

// TestLimits checks that the links of an account stay within its plan.
func TestLimits(t *testing.T) {
	t.Parallel()
	log := newLog(t, "", func(cfg *wiring.LogConfig) {
		cfg.Existing = func(context.Context, string, time.Time) (linkquota.Existing, error) {
			return linkquota.Existing{}, nil
		}
	})
	limited := owner()
	limited.Plan = domain.Plan{URLs: 1}
	if err := create(t, log, limited, commands.CreateURL{LongURL: "https://example.com/1", CustomHash: "one"}); err != nil {
		t.Fatal(err)
	}
	limited.Command = uuid.New()
	err := create(t, log, limited, commands.CreateURL{LongURL: "https://example.com/2"})
	wantKind(t, err, domain.URLLimitReached)
}

// TestErasureNeedsAMasterKey checks which logs can erase.
func TestErasureNeedsAMasterKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		seal             bool
		accounts, people error
	}{
		"with":    {seal: true},
		"without": {false, accounts.ErrNothingSealed, people.ErrNotSealed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLog(t, "", func(cfg *wiring.LogConfig) { cfg.Keys, cfg.Seal = commandstest.NewSealingKeys(), test.seal })
			opened, err := log.Accounts.Open(t.Context(), owner(), "erin", "free")
			if err != nil {
				t.Fatal(err)
			}
			_, err = log.Accounts.Erase(t.Context(), operator(), "erin")
			if !errors.Is(err, test.accounts) || (err == nil) != (test.accounts == nil) {
				t.Errorf("the account %s: %v", opened.Account.ID, err)
			}
			if _, err = log.People.Erase(t.Context(), operator(), uuid.NewString()); errors.Is(err, people.ErrNotSealed) == test.seal {
				t.Errorf("a person: %v", err)
			}
		})
	}
}

func TestDestinationsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	logger := slog.New(slog.DiscardHandler)
	if _, err := wiring.Destinations("https://sho rt", "", logger); err == nil {
		t.Error("a base URL without a host is accepted")
	}
	_, err := wiring.Destinations("", filepath.Join(t.TempDir(), "none"), logger)
	if !usage.Is(err) || !strings.Contains(err.Error(), "--blocked-hosts") {
		t.Errorf("no file: %v", err)
	}
	if rules, err := wiring.Destinations("", "", logger); err != nil || rules.Check("https://example.com", "") != nil {
		t.Errorf("without rules: %v", err)
	}
}

// TestService checks what does not need an answer of a store.
func TestService(t *testing.T) {
	t.Parallel()
	cfg := wiring.Config{
		DB: &readmodel.DB{Keys: keystore.New(nil)}, CacheSize: 1 << 20, Logger: slog.New(slog.DiscardHandler),
	}
	s, err := wiring.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case !s.Writes.Complete(), !s.Reads.Complete(), !s.Visits.Complete(), !s.Projections.Complete():
		t.Errorf("a part is missing: %+v", s)
	case s.Reads.Prover != nil:
		t.Error("it proves without a key")
	case len(s.Waiter.Caches) != 2:
		t.Errorf("%d caches are told of changes", len(s.Waiter.Caches))
	}
	cfg.SigningKey = "nonsense"
	if _, err := wiring.New(cfg); !usage.Is(err) || !strings.Contains(err.Error(), "--signing-key") {
		t.Errorf("a wrong key: %v", err)
	}
}
