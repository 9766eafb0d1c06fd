package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/commands/linkquota"
	"linkledger/commands/people"
	"linkledger/commands/streams"
	"linkledger/events/eventstore"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/usage"
	"linkledger/internal/wiring"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/rebuild"
	"linkledger/projections/engine/verify"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/progress"
	"linkledger/waiting"
)

const (
	// Timeout bounds the parts of an operator command that wait for a backend.
	Timeout = 10 * time.Second
	// operatorConnections bounds the PostgreSQL connections of an operator command.
	operatorConnections = 8
)

// Operator is the call of an operator command: its installation and the form of its output.
type Operator struct {
	*Installation
	console.Console

	JSON bool // print JSON
}

// Command is an operator command on the database and the event store.
type Command = func(context.Context, *readmodel.DB, *eventstore.Store) error

// Operate runs a command on the database and the event store of the installation.
func (o Operator) Operate(ctx context.Context, command Command) error {
	return o.OperateWithin(ctx, operatorConnections, command)
}

// OperateWithin is like Operate, with a limit for the PostgreSQL connections.
func (o Operator) OperateWithin(ctx context.Context, connections int, command Command) error {
	if err := o.Locate(); err != nil {
		return err
	}
	store, err := o.OpenStore()
	if err != nil {
		return err
	}
	defer store.Close()
	ctx = waiting.WithReport(ctx, waiting.LogTo(o.Logger))
	db, err := o.OpenReadModels(ctx, connections)
	if err != nil {
		return err
	}
	return errors.Join(o.Explain(command(ctx, db, store)), db.Close())
}

// OpenStore returns a client of the event store. It does not connect yet.
func (o Operator) OpenStore() (*eventstore.Store, error) {
	store, err := eventstore.Open(eventstore.Config{URL: string(o.Eventstore), Logger: o.Logger})
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return store, nil
}

// Explain adds to an error what an operator can do about it.
func (o Operator) Explain(err error) error {
	switch {
	case errors.Is(err, projection.ErrUnknown):
		return usage.Errorf("%w (linkledger projections list names them)", err)
	case errors.Is(err, generation.ErrPaused), errors.Is(err, generation.ErrOtherShape),
		errors.Is(err, rebuild.ErrNoGeneration), errors.Is(err, rebuild.ErrBehind),
		errors.Is(err, verify.ErrDisturbed), errors.Is(err, projections.ErrOtherLog),
		errors.Is(err, eventstore.ErrPositionInvalid):
		return usage.Wrap(err)
	case errors.Is(err, generation.ErrNotPrepared):
		return usage.Errorf("%w: start linkledger serve or dev once", err)
	case errors.Is(err, eventstore.ErrRefusesWrites):
		return usage.Wrap(err)
	case errors.Is(err, eventstore.ErrUnavailable):
		return usage.Errorf("no event store answers at %s: is it running?", o.Eventstore)
	}
	return config.ExplainKey(err)
}

// WithLog runs a command that needs only the event store.
func (o Operator) WithLog(
	ctx context.Context, command func(context.Context, *eventstore.Store) error,
) error {
	if o.Eventstore == "" {
		if err := o.Locate(); err != nil {
			return err
		}
	}
	store, err := o.OpenStore()
	if err != nil {
		return err
	}
	defer store.Close()
	probe, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if _, err := store.Head(probe); err != nil { // later calls wait for the end of an outage
		return o.Explain(err)
	}
	err = command(ctx, store)
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return usage.Wrap(err)
	}
	if errors.Is(err, commands.ErrCut) {
		return fmt.Errorf(
			"%w: linkledger audit verify lists what is cut, linkledger audit export has what the "+
				"log still has",
			err,
		)
	}
	return config.ExplainKey(err)
}

// Query runs a query on the read models.
func (o Operator) Query(
	ctx context.Context, query func(context.Context, *queries.DB) error,
) error {
	if o.Database == "" {
		if err := o.Locate(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(query(ctx, queries.New(db)), db.Close())
}

// Handler returns a handler of commands on links, with the rules of a service at an address. If the
// address is empty, Handler uses the address of a running dev, if there is one.
func (o Operator) Handler(store *eventstore.Store, baseURL string) (*commands.Handler, error) {
	rules, err := wiring.Destinations(cmp.Or(baseURL, o.ConsoleURL), "", o.Logger)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return o.log(store, keysOnDemand{o.Installation}, o.MasterKey != "", rules).Commands, nil
}

// Accounts returns the accounts of the installation.
func (o Operator) Accounts(store *eventstore.Store) *accounts.Accounts {
	return o.onDemand(store).Accounts
}

// People returns the persons of the installation. It cannot record new persons.
func (o Operator) People(store *eventstore.Store) *people.People { return o.onDemand(store).People }

// Auditor returns a reader of the histories of links.
func (o Operator) Auditor(store *eventstore.Store) *audit.Reader { return o.onDemand(store).Audit }

// With returns the accounts and the persons of the installation, which read keys from an open
// database. It is for commands on many accounts or persons, because Accounts and People open the
// database for each key.
func (o Operator) With(
	store *eventstore.Store, db *readmodel.DB,
) (*accounts.Accounts, *people.People) {
	log := o.log(store, db.Keys, db.Keys.Master != nil, destination.Rules{})
	return log.Accounts, log.People
}

// onDemand returns the parts of a service that write and read the log. They open the database for
// each key.
func (o Operator) onDemand(store *eventstore.Store) *wiring.Log {
	return o.log(
		store, keysOnDemand{o.Installation}, o.MasterKey != "", destination.Rules{},
	)
}

func (o Operator) log(
	store *eventstore.Store, keys streams.SealingKeys, seal bool, rules destination.Rules,
) *wiring.Log {
	return wiring.NewLog(wiring.LogConfig{
		Store: store, Keys: keys, Seal: seal, Destinations: rules, Existing: o.existing,
		Logger: o.Logger,
	})
}

// existing counts the links of an account in the read models.
func (o Operator) existing(
	ctx context.Context, account string, now time.Time,
) (found linkquota.Existing, err error) {
	err = keysOnDemand{o.Installation}.withDatabase(ctx, func(db *readmodel.DB) (err error) {
		found, err = wiring.Existing(queries.New(db))(ctx, account, now)
		return err
	})
	return found, err
}

// NewRequest returns a request of an operator. Its batch can be undone.
func NewRequest() domain.Request {
	command := uuid.New()
	return domain.Request{
		Operator: true, ID: uuid.NewString(), Command: command, Batch: command.String(),
	}
}

// AwaitProjection waits until a projection has applied a change. If ctx ends before, it logs a
// warning.
func (o Operator) AwaitProjection(
	ctx context.Context, projection string, position eventstore.Position,
) {
	if err := o.await(ctx, projection, position); err != nil {
		o.Logger.WarnContext(
			ctx, "done, but the read model does not show it yet: is a projector running?",
			slog.Any("error", err),
		)
	}
}

// await waits until a projection has applied a change. Because of this wait, a new key works when
// it is printed, for instance. If no database is given, await cannot wait and returns nil at once.
func (o Operator) await(
	ctx context.Context, projection string, position eventstore.Position,
) error {
	if o.Database == "" {
		return nil
	}
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	waiter := progress.NewWaiter(db)
	following, stop := context.WithCancel(ctx)
	var followed sync.WaitGroup
	followed.Go(func() { waiter.Run(following) })
	err = waiter.Wait(ctx, projection, position.Commit)
	stop()
	followed.Wait()
	return errors.Join(err, db.Close())
}
