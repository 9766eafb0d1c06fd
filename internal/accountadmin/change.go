package accountadmin

import (
	"context"
	"errors"
	"time"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/permit"
	"linkledger/events/eventstore"
	"linkledger/internal/accountadmin/effect"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/queries/accountlist"
	"linkledger/queries/cache"
)

// change runs a command on an account and prints the changed account. The parameter is, a function,
// reports whether the account in the read models shows the change.
func change(
	ctx context.Context, o installation.Operator, does effect.Kind,
	is func(accountlist.Account) bool,
	command func(context.Context, *accounts.Accounts, domain.Request) (accounts.Outcome, error),
) error {
	return changeTo(
		ctx, o, does, command,
		func(outcome accounts.Outcome) effect.Left { return effect.OfAccount(outcome, is) },
	)
}

// changeTo is like change, but the caller chooses how the read models are checked: left gets the
// outcome of the command and returns the change that the read models must show.
func changeTo(
	ctx context.Context, o installation.Operator, does effect.Kind,
	command func(context.Context, *accounts.Accounts, domain.Request) (accounts.Outcome, error),
	left func(accounts.Outcome) effect.Left,
) error {
	var outcome accounts.Outcome
	err := run(ctx, o, does, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (effect.Left, error) {
		var err error
		outcome, err = command(ctx, a, r)
		return left(outcome), err
	})
	if err != nil {
		return err
	}
	return printOutcome(o, outcome)
}

// run runs a command on accounts and waits until the read models have applied the change. Then it
// checks that the read models show the change.
func run(
	ctx context.Context, o installation.Operator, does effect.Kind,
	command func(context.Context, *accounts.Accounts, domain.Request) (effect.Left, error),
) error {
	return runOn(ctx, o, does, func(
		ctx context.Context, store *eventstore.Store, r domain.Request,
	) (effect.Left, error) {
		return command(ctx, o.Accounts(store), r)
	})
}

// runOn is like run, for a command that needs the event store itself.
func runOn(
	ctx context.Context, o installation.Operator, does effect.Kind,
	command func(context.Context, *eventstore.Store, domain.Request) (effect.Left, error),
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
	during, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	left, err := command(during, store, installation.NewRequest())
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return usage.Wrap(err)
	}
	if err != nil {
		return o.Explain(err)
	}
	o.AwaitProjection(during, projections.Accounts, left.Position)
	if o.Database == "" {
		return nil
	}
	// The wait for the projection may have used up the timeout of during.
	ctx, cancel = context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(effect.Check(ctx, db, does, left), db.Close())
}

// awaited returns err, the result of a command, once every node refuses the rights that the command
// has ended. It waits because nodes use cached rights for a moment. If the command has failed,
// awaited returns at once.
func awaited(ctx context.Context, err error) error {
	if err == nil {
		awaitNodes(ctx)
	}
	return err
}

// awaitNodes waits until no node uses anything that it cached before the command, or until ctx
// ends. After the wait, the calls that have lost their rights have stopped too.
func awaitNodes(ctx context.Context) {
	select {
	case <-time.After(cache.TrustedFor + permit.EndsWithin):
	case <-ctx.Done():
	}
}

// Open opens an account and prints it with its API key.
func Open(ctx context.Context, o installation.Operator, username, plan string) error {
	return change(ctx, o, effect.Changes, func(accountlist.Account) bool { return true }, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.Open(ctx, r, username, plan)
	})
}

// RotateKey replaces the API key of an account.
func RotateKey(ctx context.Context, o installation.Operator, username string) error {
	return awaited(ctx, changeTo(ctx, o, effect.Ends, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.RotateKey(ctx, r, username)
	}, func(outcome accounts.Outcome) effect.Left {
		return effect.OfKeys(outcome.Account.ID, outcome.Position, func(ids []string) bool {
			keys := outcome.Account.Keys
			return len(ids) == 1 && ids[0] == keys[len(keys)-1].ID
		})
	}))
}

// Deactivate closes the API to an account and stops its links.
func Deactivate(ctx context.Context, o installation.Operator, username string) error {
	return awaited(ctx, change(
		ctx, o, effect.Ends, func(shown accountlist.Account) bool { return !shown.Active },
		func(
			ctx context.Context, a *accounts.Accounts, r domain.Request,
		) (accounts.Outcome, error) {
			return a.Deactivate(ctx, r, username)
		},
	))
}

// Reactivate undoes Deactivate.
func Reactivate(ctx context.Context, o installation.Operator, username string) error {
	return change(
		ctx, o, effect.Changes, func(shown accountlist.Account) bool { return shown.Active },
		func(
			ctx context.Context, a *accounts.Accounts, r domain.Request,
		) (accounts.Outcome, error) {
			return a.Reactivate(ctx, r, username)
		},
	)
}

// Edit gives an account another plan, another last day or both.
func Edit(
	ctx context.Context, o installation.Operator, username string, plan, lastDay *string,
) error {
	edited := func(shown accountlist.Account) bool {
		return (plan == nil || shown.Plan == *plan) &&
			(lastDay == nil || shown.ExpirationDate == *lastDay)
	}
	return awaited(ctx, change(ctx, o, effect.Changes, edited, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (accounts.Outcome, error) {
		return a.Edit(ctx, r, username, accounts.Change{Plan: plan, ExpirationDate: lastDay})
	}))
}
