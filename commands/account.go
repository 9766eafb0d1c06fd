package commands

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

var usernamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Account is the state of one account, folded from its stream.
type Account struct {
	ID             string
	Username       string
	Plan           string
	KeyID          string
	KeyHash        string
	Active         bool
	ExpirationDate string // YYYY-MM-DD, the last day of its use, UTC; empty: never
	Erased         bool   // its notes are gone, and nobody uses it any more
}

func foldAccount(history []events.Event) Account {
	var a Account
	for _, e := range history {
		switch e := e.(type) {
		case events.AccountOpened:
			a = Account{ID: e.Account, Username: e.Username, Plan: e.Plan, KeyID: e.KeyID, KeyHash: e.KeyHash, Active: true}
		case events.KeyRotated:
			a.KeyID, a.KeyHash = e.KeyID, e.KeyHash
		case events.PlanChanged:
			a.Plan = e.Plan
		case events.AccountExpiryChanged:
			a.ExpirationDate = e.ExpirationDate
		case events.AccountDeactivated:
			a.Active = false
		case events.AccountReactivated:
			a.Active = true
		case events.AccountErased:
			a.Erased = true
		}
	}
	return a
}

func (a Account) deactivate(at time.Time) []events.Event {
	if !a.Active {
		return nil
	}
	return []events.Event{events.AccountDeactivated{At: at}}
}

func (a Account) reactivate(at time.Time) []events.Event {
	if a.Active {
		return nil
	}
	return []events.Event{events.AccountReactivated{At: at}}
}

// EditAccount changes an account. Nil fields are not given and stay.
type EditAccount struct {
	Plan           *string
	ExpirationDate *string // YYYY-MM-DD, the last day of its use, UTC; empty: never
}

func (a Account) edit(edit EditAccount, at time.Time) []events.Event {
	var changes []events.Event
	if edit.Plan != nil && *edit.Plan != a.Plan {
		changes = append(changes, events.PlanChanged{Plan: *edit.Plan, At: at})
	}
	if edit.ExpirationDate != nil && *edit.ExpirationDate != a.ExpirationDate {
		changes = append(changes, events.AccountExpiryChanged{ExpirationDate: *edit.ExpirationDate, At: at})
	}
	return changes
}

// apiKey is a new key: the caller sees the key once, the log keeps its id and hash.
type apiKey struct {
	id, key, hash string
}

func newAPIKey() apiKey {
	random := make([]byte, 36)
	_, _ = rand.Read(random) // never fails
	key := "lk_" + base64.RawURLEncoding.EncodeToString(random[4:])
	return apiKey{id: hex.EncodeToString(random[:4]), key: key, hash: HashKey(key)}
}

// HashKey returns what is stored of an API key. It needs no salt and no slow hash: keys are 32 random bytes, which are beyond
// guessing.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// noKeyHash stands for the stored hash where there is none. It is the hash of no known key.
var noKeyHash = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// SameKey tells whether the hash of an API key is the stored one. It takes the same time whether it is, whether it is not,
// and where nothing is stored.
func SameKey(hash, stored string) bool {
	return subtle.ConstantTimeCompare([]byte(hash), []byte(cmp.Or(stored, noKeyHash))) == 1
}

// AccountOutcome is an account after a command.
type AccountOutcome struct {
	Account  Account
	Key      string // the new API key, where the command made one; it is stored nowhere
	Position eventstore.Position
}

// OpenAccount opens an account. It refuses with InvalidUsername.
func (h *Handler) OpenAccount(ctx context.Context, r Request, username, plan string) (AccountOutcome, error) {
	if !usernamePattern.MatchString(username) {
		return AccountOutcome{}, refuse(InvalidUsername,
			"A user name has 1 to 64 of the characters a-z 0-9 . _ - and begins with a letter or digit")
	}
	id, err := h.claimUsername(ctx, r, username)
	if err != nil {
		return AccountOutcome{}, err
	}
	taken := refuse(InvalidUsername, "There is already an account %q", username)
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
func (h *Handler) claimUsername(ctx context.Context, r Request, username string) (string, error) {
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
	missing := refuse(AccountNotFound, "There is no account %q", username)
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
		return "", refuse(AccountNotFound, "There is no account %q", account)
	}
	return foldAccount(loaded.events).Username, nil
}

// RotateKey replaces the API key of an account. It refuses with AccountNotFound and AccountGone.
func (h *Handler) RotateKey(ctx context.Context, r Request, username string) (AccountOutcome, error) {
	key := newAPIKey()
	outcome, err := h.changeAccount(ctx, r, username, func(a Account) []events.Event {
		if a.Erased {
			return nil
		}
		return []events.Event{events.KeyRotated{KeyID: key.id, KeyHash: key.hash, At: h.now()}}
	})
	if err == nil && outcome.Account.Erased {
		err = refuse(AccountGone, "The account %q has been erased: no key opens it", username)
	}
	if err != nil {
		return AccountOutcome{}, err
	}
	outcome.Key = key.key
	return outcome, nil
}

// DeactivateAccount bars an account from the API and stops its links. It refuses with AccountNotFound.
func (h *Handler) DeactivateAccount(ctx context.Context, r Request, username string) (AccountOutcome, error) {
	return h.changeAccount(ctx, r, username, func(a Account) []events.Event { return a.deactivate(h.now()) })
}

// ReactivateAccount undoes DeactivateAccount. It refuses with AccountNotFound.
func (h *Handler) ReactivateAccount(ctx context.Context, r Request, username string) (AccountOutcome, error) {
	return h.changeAccount(ctx, r, username, func(a Account) []events.Event { return a.reactivate(h.now()) })
}

// EditAccount changes an account. It refuses with AccountNotFound and InvalidDate.
func (h *Handler) EditAccount(ctx context.Context, r Request, username string, edit EditAccount) (AccountOutcome, error) {
	if edit.ExpirationDate != nil {
		if err := checkDate(*edit.ExpirationDate); err != nil {
			return AccountOutcome{}, err
		}
	}
	return h.changeAccount(ctx, r, username, func(a Account) []events.Event { return a.edit(edit, h.now()) })
}

func (h *Handler) changeAccount(ctx context.Context, r Request, username string, decide func(Account) []events.Event) (AccountOutcome, error) {
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
			return AccountOutcome{}, refuse(AccountNotFound, "There is no account %q", username)
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
