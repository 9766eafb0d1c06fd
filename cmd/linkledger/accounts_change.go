package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/projections"
)

// changeAccount runs one command on an account and prints what it made.
func changeAccount(ctx context.Context, o Operator, command func(context.Context, *commands.Handler, domain.Request) (commands.AccountOutcome, error)) error {
	if o.EventStore == "" {
		if err := o.locate(); err != nil {
			return err
		}
	}
	store, err := o.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	outcome, err := command(ctx, o.handler(store), domain.Request{Command: uuid.New(), ID: uuid.NewString()})
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return usageError(err)
	}
	if errors.Is(err, eventstore.ErrUnavailable) {
		return usage("no event store answers at %s: is it running?", o.EventStore)
	}
	if err != nil {
		return explainedKey(err)
	}
	o.awaitShown(ctx, projections.Accounts, outcome.Position)
	return printOutcome(o, outcome)
}

// openAccount opens an account.
func openAccount(ctx context.Context, o Operator, username, plan string) error {
	return changeAccount(ctx, o, func(ctx context.Context, h *commands.Handler, r domain.Request) (commands.AccountOutcome, error) {
		return h.OpenAccount(ctx, r, username, plan)
	})
}

// rotateKey replaces the API key of an account.
func rotateKey(ctx context.Context, o Operator, username string) error {
	return changeAccount(ctx, o, func(ctx context.Context, h *commands.Handler, r domain.Request) (commands.AccountOutcome, error) {
		return h.RotateKey(ctx, r, username)
	})
}

// deactivateAccount bars an account from the API and stops its links.
func deactivateAccount(ctx context.Context, o Operator, username string) error {
	return changeAccount(ctx, o, func(ctx context.Context, h *commands.Handler, r domain.Request) (commands.AccountOutcome, error) {
		return h.DeactivateAccount(ctx, r, username)
	})
}

// reactivateAccount undoes deactivateAccount.
func reactivateAccount(ctx context.Context, o Operator, username string) error {
	return changeAccount(ctx, o, func(ctx context.Context, h *commands.Handler, r domain.Request) (commands.AccountOutcome, error) {
		return h.ReactivateAccount(ctx, r, username)
	})
}

// editAccount gives an account another plan or another last day.
func editAccount(ctx context.Context, o Operator, username string, edit commands.EditAccount) error {
	return changeAccount(ctx, o, func(ctx context.Context, h *commands.Handler, r domain.Request) (commands.AccountOutcome, error) {
		return h.EditAccount(ctx, r, username, edit)
	})
}

// eraseAccount ends an account for ever and makes its notes unreadable.
func eraseAccount(ctx context.Context, o Operator, username string) error {
	if err := o.locate(); err != nil {
		return err
	}
	return changeAccount(ctx, o, func(ctx context.Context, h *commands.Handler, r domain.Request) (commands.AccountOutcome, error) {
		outcome, err := h.EraseAccount(ctx, r, username)
		if err == nil {
			awaitErasure(ctx, o, outcome.Position)
		}
		return outcome, err
	})
}

// awaitErasure returns when no table has a note of the account any more, or says where it still is.
func awaitErasure(ctx context.Context, o Operator, position eventstore.Position) {
	db, err := o.openReadModels(ctx, 1)
	if err != nil {
		o.Logger.WarnContext(ctx, "erased, but whether the read models are too is not known", slog.Any("error", err))
		return
	}
	behind, err := projections.AwaitErasure(ctx, db, position)
	if err != nil {
		o.Logger.WarnContext(ctx, "erased, but these generations still have notes: a projector erases them, or projections prune removes them",
			slog.Any("generations", behind), slog.Any("error", err))
	}
	_ = db.Close() // nothing was written
}
