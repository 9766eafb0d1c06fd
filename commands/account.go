package commands

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// AccountOutcome is an account after a command.
type AccountOutcome struct {
	Account  Account
	Key      string // the new API key, where the command made one; it is stored nowhere
	Position eventstore.Position
}

// OpenAccount opens an account. It refuses with InvalidUsername.
func (h *Handler) OpenAccount(ctx context.Context, r domain.Request, username, plan string) (AccountOutcome, error) {
	if !usernamePattern.MatchString(username) {
		return AccountOutcome{}, domain.Refuse(domain.InvalidUsername,
			"A user name has 1 to 64 of the characters a-z 0-9 . _ - and begins with a letter or digit")
	}
	id, err := h.claimUsername(ctx, r, username)
	if err != nil {
		return AccountOutcome{}, err
	}
	taken := domain.Refuse(domain.InvalidUsername, "There is already an account %q", username)
	if loaded, err := h.load(ctx, events.StreamAccount+id); err != nil || len(loaded.events) > 0 {
		return AccountOutcome{}, cmp.Or(err, taken)
	}
	key := newAPIKey()
	opened := events.AccountOpened{
		Account: id, Username: username, Plan: plan, KeyID: key.id, KeyHash: key.hash, At: h.now(),
	}
	r.Command = uuid.New() // each try has a key of its own, so none may pass for another
	appended, err := h.append(ctx, r, events.StreamAccount+id, eventstore.NoStream, opened)
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return AccountOutcome{}, taken
	}
	if err != nil {
		return AccountOutcome{}, err
	}
	return AccountOutcome{Account: foldAccount([]events.Event{opened}), Key: key.key, Position: appended.Position}, nil
}

// claimUsername returns the account id that a user name belongs to: a new one, or that of an earlier claim, whose
// account may never have been opened.
func (h *Handler) claimUsername(ctx context.Context, r domain.Request, username string) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	_, err = h.append(ctx, r, events.StreamUsername+username, eventstore.NoStream,
		events.UsernameClaimed{Username: username, Account: id.String(), At: h.now()})
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return h.AccountID(ctx, username)
	}
	return id.String(), err
}

// AccountID returns the id of the account that claimed a user name. It refuses with AccountNotFound.
func (h *Handler) AccountID(ctx context.Context, username string) (string, error) {
	missing := domain.Refuse(domain.AccountNotFound, "There is no account %q", username)
	if !usernamePattern.MatchString(username) {
		return "", missing
	}
	loaded, err := h.load(ctx, events.StreamUsername+username)
	if err != nil {
		return "", err
	}
	for _, e := range loaded.events {
		if claimed, ok := e.(events.UsernameClaimed); ok {
			return claimed.Account, nil
		}
	}
	return "", missing
}

// Username returns the user name of an account. It refuses with AccountNotFound.
func (h *Handler) Username(ctx context.Context, account string) (string, error) {
	loaded, err := h.load(ctx, events.StreamAccount+account)
	if err != nil {
		return "", err
	}
	if len(loaded.events) == 0 {
		return "", domain.Refuse(domain.AccountNotFound, "There is no account %q", account)
	}
	return foldAccount(loaded.events).Username, nil
}

// RotateKey replaces the API key of an account. It refuses with AccountNotFound and AccountGone.
func (h *Handler) RotateKey(ctx context.Context, r domain.Request, username string) (AccountOutcome, error) {
	key := newAPIKey()
	outcome, err := h.changeAccount(ctx, r, username, func(a Account) []events.Event {
		if a.Erased {
			return nil
		}
		return []events.Event{events.KeyRotated{KeyID: key.id, KeyHash: key.hash, At: h.now()}}
	})
	if err == nil && outcome.Account.Erased {
		err = domain.Refuse(domain.AccountGone, "The account %q has been erased: no key opens it", username)
	}
	if err != nil {
		return AccountOutcome{}, err
	}
	outcome.Key = key.key
	return outcome, nil
}

// DeactivateAccount bars an account from the API and stops its links. It refuses with AccountNotFound.
func (h *Handler) DeactivateAccount(ctx context.Context, r domain.Request, username string) (AccountOutcome, error) {
	return h.changeAccount(ctx, r, username, func(a Account) []events.Event { return a.deactivate(h.now()) })
}

// ReactivateAccount undoes DeactivateAccount. It refuses with AccountNotFound.
func (h *Handler) ReactivateAccount(ctx context.Context, r domain.Request, username string) (AccountOutcome, error) {
	return h.changeAccount(ctx, r, username, func(a Account) []events.Event { return a.reactivate(h.now()) })
}

// EditAccount changes an account. It refuses with AccountNotFound and InvalidDate.
func (h *Handler) EditAccount(ctx context.Context, r domain.Request, username string, edit EditAccount) (AccountOutcome, error) {
	if edit.ExpirationDate != nil {
		if err := domain.CheckDate(*edit.ExpirationDate); err != nil {
			return AccountOutcome{}, err
		}
	}
	return h.changeAccount(ctx, r, username, func(a Account) []events.Event { return a.edit(edit, h.now()) })
}

func (h *Handler) changeAccount(ctx context.Context, r domain.Request, username string, decide func(Account) []events.Event) (AccountOutcome, error) {
	id, err := h.AccountID(ctx, username)
	if err != nil {
		return AccountOutcome{}, err
	}
	return retry(func() (AccountOutcome, error) {
		loaded, err := h.load(ctx, events.StreamAccount+id)
		if err != nil {
			return AccountOutcome{}, err
		}
		account := foldAccount(loaded.events)
		if account.ID == "" {
			return AccountOutcome{}, domain.Refuse(domain.AccountNotFound, "There is no account %q", username)
		}
		changes := decide(account)
		if len(changes) == 0 {
			return AccountOutcome{Account: account, Position: loaded.position()}, nil
		}
		appended, err := h.append(ctx, r, events.StreamAccount+id, loaded.revision(), changes...)
		if err != nil {
			return AccountOutcome{}, err
		}
		return AccountOutcome{Account: foldAccount(append(loaded.events, changes...)), Position: appended.Position}, nil
	})
}
