package accounts

import (
	"context"
	"errors"

	"linkledger/commands/domain"
	"linkledger/events"
)

// ErrNothingSealed means that an account cannot be erased, because this process has no keys to
// delete.
var ErrNothingSealed = errors.New(
	"notes are not encrypted here, so nothing can be erased: give the master key",
)

// Erase erases an account forever and deletes the key of its notes. The links stay. If Erase is
// interrupted, a repeat deletes the key. Erase refuses with AccountNotFound. Without keys, it fails
// with ErrNothingSealed.
func (s *Accounts) Erase(ctx context.Context, r domain.Request, username string) (Outcome, error) {
	if s.keys == nil {
		return Outcome{}, ErrNothingSealed
	}
	outcome, err := s.change(ctx, r, s.ending, username, func(a Account) ([]events.Event, error) {
		if a.Erased {
			return nil, nil
		}
		return []events.Event{events.AccountErased{At: s.streams.Now()}}, nil
	})
	if err != nil {
		return Outcome{}, err
	}
	return outcome, s.keys.EraseAccountKey(ctx, outcome.Account.ID)
}
