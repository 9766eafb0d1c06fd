package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Accounts opens, changes and erases accounts. It is safe for concurrent use.
type Accounts struct {
	streams *streams.Streams
	keys    streams.SealingKeys // nil: no note is sealed

	whole loader
	// ending skips events that cannot be decoded. It is for commands that only end rights, so
	// that they work whatever these events say.
	ending loader
}

// New returns Accounts. keys encrypt the notes. If keys is nil, no account can be erased.
func New(streams *streams.Streams, keys streams.SealingKeys) *Accounts {
	return &Accounts{
		streams: streams, keys: keys, whole: streams.Load, ending: streams.LoadReadable,
	}
}

// Outcome is an account after a command.
type Outcome struct {
	Account  Account
	Key      string // the new API key, which is stored nowhere; empty: the command made none
	Position eventstore.Position
}

// Open opens an account. It refuses with InvalidUsername.
func (s *Accounts) Open(
	ctx context.Context, r domain.Request, username, plan string,
) (Outcome, error) {
	if !usernamePattern.MatchString(username) {
		return Outcome{}, domain.Refuse(domain.InvalidUsername,
			"A user name has 1 to 64 of the characters a-z 0-9 . _ - and begins with a letter or "+
				"digit")
	}
	id, err := s.claimUsername(ctx, r, username)
	if err != nil {
		return Outcome{}, err
	}
	taken := domain.Refuse(domain.InvalidUsername, "There is already an account %q", username)
	if loaded, err := s.streams.LoadReadable(ctx, events.StreamAccount+id); err != nil ||
		len(loaded.Events) > 0 {
		return Outcome{}, cmp.Or(err, taken)
	}
	key := access.MakeKey(r.Command)
	opened := events.AccountOpened{
		Account: id, Username: username, Plan: plan, KeyID: key.ID, KeyHash: key.Hash,
		At: s.streams.Now(),
	}
	r.Command = uuid.New() // each call makes another key, so no call is a repeat of another
	appended, err := s.streams.Append(ctx, r, events.StreamAccount+id, eventstore.NoStream, opened)
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return Outcome{}, taken
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{
		Account: fold([]events.Event{opened}), Key: key.Secret, Position: appended.Position,
	}, nil
}

// claimUsername returns the account id that a user name belongs to: a new id, or the id of an
// earlier claim, whose account may never have been opened.
func (s *Accounts) claimUsername(
	ctx context.Context, r domain.Request, username string,
) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	_, err = s.streams.Append(ctx, r, events.StreamUsername+username, eventstore.NoStream,
		events.UsernameClaimed{Username: username, Account: id.String(), At: s.streams.Now()})
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return s.ID(ctx, username)
	}
	return id.String(), err
}

// ID returns the id of the account that claimed a user name. It refuses with AccountNotFound.
func (s *Accounts) ID(ctx context.Context, username string) (string, error) {
	missing := domain.Refuse(domain.AccountNotFound, "There is no account %q", username)
	if !usernamePattern.MatchString(username) {
		return "", missing
	}
	loaded, err := s.streams.LoadReadable(ctx, events.StreamUsername+username)
	if err != nil {
		return "", err
	}
	for _, e := range loaded.Events {
		if claimed, ok := e.(events.UsernameClaimed); ok {
			return claimed.Account, nil
		}
	}
	return "", missing
}

// Username returns the user name of an account. It refuses with AccountNotFound.
func (s *Accounts) Username(ctx context.Context, account string) (string, error) {
	loaded, err := s.streams.Load(ctx, events.StreamAccount+account)
	if err != nil {
		return "", err
	}
	if len(loaded.Events) == 0 {
		return "", domain.Refuse(domain.AccountNotFound, "There is no account %q", account)
	}
	return fold(loaded.Events).Username, nil
}

// Load returns an account as the log has it. An account that was never opened has no id.
func Load(ctx context.Context, streams *streams.Streams, account string) (Account, error) {
	loaded, err := streams.Load(ctx, events.StreamAccount+account)
	return fold(loaded.Events), err
}

// LoadSealed is Load without the decryption of personal data, so it needs no keys.
func LoadSealed(ctx context.Context, streams *streams.Streams, account string) (Account, error) {
	loaded, err := streams.LoadSealed(ctx, events.StreamAccount+account)
	return fold(loaded.Events), err
}

// RotateKey ends all API keys of an account and adds one that may do everything. It refuses with
// AccountNotFound and AccountGone.
func (s *Accounts) RotateKey(
	ctx context.Context, r domain.Request, username string,
) (Outcome, error) {
	key := access.MakeKey(r.Command)
	outcome, err := s.change(ctx, r, s.ending, username, func(a Account) ([]events.Event, error) {
		if a.Erased {
			return nil, erasedError(username)
		}
		return []events.Event{
			events.KeyRotated{KeyID: key.ID, KeyHash: key.Hash, At: s.streams.Now()},
		}, nil
	})
	if err != nil {
		return Outcome{}, err
	}
	outcome.Key = key.Secret
	return outcome, nil
}

func erasedError(username string) error {
	return domain.Refuse(
		domain.AccountGone, "The account %q has been erased: no key opens it", username,
	)
}

// Deactivate bars an account from the API and stops its links. It refuses with AccountNotFound.
func (s *Accounts) Deactivate(
	ctx context.Context, r domain.Request, username string,
) (Outcome, error) {
	return s.change(ctx, r, s.ending, username, func(a Account) ([]events.Event, error) {
		if !a.Active && !a.unsure {
			return nil, nil
		}
		return []events.Event{events.AccountDeactivated{At: s.streams.Now()}}, nil
	})
}

// Reactivate undoes Deactivate. It refuses with AccountNotFound.
func (s *Accounts) Reactivate(
	ctx context.Context, r domain.Request, username string,
) (Outcome, error) {
	return s.change(ctx, r, s.whole, username, func(a Account) ([]events.Event, error) {
		if a.Active {
			return nil, nil
		}
		return []events.Event{events.AccountReactivated{At: s.streams.Now()}}, nil
	})
}

// Edit changes an account. It refuses with AccountNotFound and InvalidDate.
func (s *Accounts) Edit(
	ctx context.Context, r domain.Request, username string, edit Change,
) (Outcome, error) {
	if edit.ExpirationDate != nil {
		if err := domain.CheckDate(*edit.ExpirationDate); err != nil {
			return Outcome{}, err
		}
	}
	return s.change(
		ctx, r, s.whole, username,
		func(a Account) ([]events.Event, error) { return a.edit(edit, s.streams.Now()), nil },
	)
}

type loader func(ctx context.Context, stream string) (streams.History, error)

// foldLoaded folds the stream of an account as far as its events can be decoded. The result has the
// id even if the opening of the account cannot be decoded.
func foldLoaded(id string, loaded streams.History) Account {
	account := fold(loaded.Events)
	account.nameMakers(loaded)
	if loaded.Err() == nil {
		return account
	}
	account.ID = id
	account.unsure = !slices.ContainsFunc(loaded.Last(), func(e events.Event) bool {
		_, deactivated := e.(events.AccountDeactivated)
		return deactivated
	})
	return account
}

func (s *Accounts) change(
	ctx context.Context, r domain.Request, load loader, username string,
	decide func(Account) ([]events.Event, error),
) (Outcome, error) {
	id, err := s.ID(ctx, username)
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := s.changeByID(ctx, r, load, id, func(account Account) ([]events.Event, error) {
		if account.ID == "" {
			return nil, domain.Refuse(
				domain.AccountNotFound, "There is no account %q", username,
			)
		}
		return decide(account)
	})
	outcome.Account.Username = username // also if the opening of the account cannot be decoded
	return outcome, err
}

func (s *Accounts) changeByID(
	ctx context.Context, r domain.Request, load loader, id string,
	decide func(Account) ([]events.Event, error),
) (Outcome, error) {
	return eventstore.Retry(func() (Outcome, error) {
		loaded, err := load(ctx, events.StreamAccount+id)
		if err != nil {
			return Outcome{}, err
		}
		account := foldLoaded(id, loaded)
		if r.Repeated && loaded.Has(r.Command, events.StreamAccount+id) {
			return Outcome{Account: account, Position: loaded.Position()}, nil
		}
		changes, err := decide(account)
		if err != nil {
			return Outcome{}, err
		}
		if len(changes) == 0 {
			return Outcome{Account: account, Position: loaded.Position()}, nil
		}
		appended, err := s.streams.Append(
			ctx, r, events.StreamAccount+id, loaded.Revision(), changes...,
		)
		if err != nil {
			return Outcome{}, err
		}
		loaded.Events = append(loaded.Events, changes...)
		return Outcome{Account: foldLoaded(id, loaded), Position: appended.Position}, nil
	})
}
