package accountadmin

import (
	"context"
	"errors"
	"time"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/permit"
	"linkledger/events/eventstore"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/queries/cache"
	"linkledger/queries/progress"
)

// effect says what a command does to rights.
type effect bool

const (
	changes effect = false
	ends    effect = true // it only ends rights
)

// change runs a command on an account and prints the account after it.
func change(
	ctx context.Context, o installation.Operator, does effect,
	command func(context.Context, *accounts.Accounts, domain.Request) (accounts.Outcome, error),
) error {
	var outcome accounts.Outcome
	err := run(ctx, o, does, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (eventstore.Position, error) {
		var err error
		outcome, err = command(ctx, a, r)
		return outcome.Position, err
	})
	if err != nil {
		return err
	}
	return printOutcome(o, outcome)
}

// run runs a command on accounts, and waits until the read models have the position that it
// returns.
func run(
	ctx context.Context, o installation.Operator, does effect,
	command func(
		context.Context, *accounts.Accounts, domain.Request,
	) (eventstore.Position, error),
) error {
	return runOn(ctx, o, does, func(
		ctx context.Context, store *eventstore.Store, r domain.Request,
	) (eventstore.Position, error) {
		return command(ctx, o.Accounts(store), r)
	})
}

// runOn is run for a command that needs the event store.
func runOn(
	ctx context.Context, o installation.Operator, does effect,
	command func(
		context.Context, *eventstore.Store, domain.Request,
	) (eventstore.Position, error),
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
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	position, err := command(ctx, store, installation.NewRequest())
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return usage.Wrap(err)
	}
	if err != nil {
		return o.Explain(err)
	}
	o.AwaitProjection(ctx, projections.Accounts, position)
	return checkEffect(ctx, o, does, position)
}

// checkEffect returns an error if a change cannot take effect because its event is set aside.
func checkEffect(
	ctx context.Context, o installation.Operator, does effect, position eventstore.Position,
) error {
	if o.Database == "" {
		return nil
	}
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	err = effectError(progress.NewWaiter(db).LacksEffect(ctx, position.Commit, bool(does)))
	return errors.Join(err, db.Close())
}

func effectError(lacks bool, err error) error {
	if !lacks || err != nil {
		return err
	}
	return errors.New("stored, but without effect: earlier events of the same account or person " +
		"cannot be applied; see linkledger projections dead-letters list accounts")
}

// end is change for a command that ends something. It returns when no node accepts any more what
// was ended: nodes use for a moment what they have cached.
func end(
	ctx context.Context, o installation.Operator, does effect,
	command func(context.Context, *accounts.Accounts, domain.Request) (accounts.Outcome, error),
) error {
	err := change(ctx, o, does, command)
	if err == nil {
		awaitNodes(ctx)
	}
	return err
}

// awaitNodes waits until nodes use what they have cached no more, and calls that began before have
// stopped.
func awaitNodes(ctx context.Context) {
	select {
	case <-time.After(cache.TrustedFor + permit.EndsWithin):
	case <-ctx.Done():
	}
}

// Open opens an account and prints it with its API key.
func Open(ctx context.Context, o installation.Operator, username, plan string) error {
	return change(ctx, o, changes, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.Open(ctx, r, username, plan)
	})
}

// RotateKey replaces the API key of an account.
func RotateKey(ctx context.Context, o installation.Operator, username string) error {
	return end(ctx, o, ends, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.RotateKey(ctx, r, username)
	})
}

// Deactivate closes the API to an account and stops its links.
func Deactivate(ctx context.Context, o installation.Operator, username string) error {
	return end(ctx, o, ends, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.Deactivate(ctx, r, username)
	})
}

// Reactivate undoes Deactivate.
func Reactivate(ctx context.Context, o installation.Operator, username string) error {
	return change(ctx, o, changes, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.Reactivate(ctx, r, username)
	})
}

// Edit gives an account another plan, another last day or both.
func Edit(
	ctx context.Context, o installation.Operator, username string, plan, lastDay *string,
) error {
	return end(ctx, o, changes, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.Edit(ctx, r, username, accounts.Change{Plan: plan, ExpirationDate: lastDay})
	})
}
