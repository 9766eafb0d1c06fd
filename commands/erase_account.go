package commands

import (
	"context"
	"errors"

	"linkledger/commands/domain"
	"linkledger/events"
)

// ErrNothingSealed means that an account can't be erased, because this process has no keys to delete.
var ErrNothingSealed = errors.New("notes are not encrypted here, so nothing can be erased: give the master key")

// EraseAccount ends an account for ever, and deletes the key of its notes. Its links go on. Where it was cut off between the
// two, a repetition carries it on. It refuses with AccountNotFound and fails with ErrNothingSealed.
func (h *Handler) EraseAccount(ctx context.Context, r domain.Request, username string) (AccountOutcome, error) {
	if !h.cfg.SealNotes {
		return AccountOutcome{}, ErrNothingSealed
	}
	outcome, err := h.changeAccount(ctx, r, username, func(a Account) []events.Event { return a.erase(h.now()) })
	if err != nil {
		return AccountOutcome{}, err
	}
	return outcome, h.cfg.Keys.EraseAccountKey(ctx, outcome.Account.ID)
}

// isErased tells whether the log says that an account was erased.
func (h *Handler) isErased(ctx context.Context, account string) (bool, error) {
	loaded, err := h.load(ctx, events.StreamAccount+account)
	return foldAccount(loaded.events).Erased, err
}

// withoutNotes erases the notes in the events of a link, also those that were never sealed.
func withoutNotes(all []stored) []stored {
	for i := range all {
		all[i].event = events.EraseNote(all[i].event)
	}
	return all
}
