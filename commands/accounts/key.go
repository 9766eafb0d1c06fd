package accounts

import (
	"time"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/events"
)

// MaxKeys is the maximum number of API keys of an account, without the revoked keys. A login
// compares the given key with each of them.
const MaxKeys = 100

// Key is an API key of an account.
type Key struct {
	events.KeyTerms

	ID        string
	Hash      string // as access.HashKey returns it
	AddedAt   time.Time
	RevokedAt time.Time // zero: it is not revoked
	// Maker is the id of the person who added the key, directly or with a key that the person made.
	// It is empty if no person is known: an operator who has not signed in added the key, or it is
	// the first key of the account, or it was added with a key without a maker.
	Maker string
}

func (k *Key) revoke(at time.Time) {
	if k.RevokedAt.IsZero() {
		k.RevokedAt = at
	}
}

// key returns the key with an id, or nil.
func (a *Account) key(id string) *Key {
	for i := range a.Keys {
		if a.Keys[i].ID == id {
			return &a.Keys[i]
		}
	}
	return nil
}

// KeyName returns the name of a key, also of a revoked one; empty: there is no such key.
func (a *Account) KeyName(id string) string {
	if k := a.key(id); k != nil {
		return k.Name
	}
	return ""
}

// working returns the key with an id, or refuses with KeyNotFound if there is none or if it is
// revoked.
func (a *Account) working(id string) (*Key, error) {
	if k := a.key(id); k != nil && k.RevokedAt.IsZero() {
		return k, nil
	}
	return nil, ErrNoKey(id)
}

// ErrNoKey refuses the id of a key that the account does not have.
func ErrNoKey(id string) error {
	return domain.Refuse(domain.KeyNotFound, "There is no key %q", id)
}

// addNewKey returns the event that adds a key. If the account already has a key with that id, it
// returns no event: the id derives from the command, so an earlier attempt has added the key.
func (a *Account) addNewKey(
	r domain.Request, key access.NewKey, terms events.KeyTerms, at time.Time,
) ([]events.Event, error) {
	if a.key(key.ID) != nil {
		return nil, nil
	}
	if err := a.mayGrant(r, access.Keys, terms); err != nil {
		return nil, err
	}
	working := 0
	for _, k := range a.Keys {
		if k.RevokedAt.IsZero() {
			working++
		}
	}
	if working >= MaxKeys {
		return nil, domain.Refuse(
			domain.InvalidValue, "An account has at most %d keys, revoke one first", MaxKeys,
		)
	}
	return []events.Event{
		events.KeyAdded{KeyID: key.ID, KeyHash: key.Hash, KeyTerms: terms, At: at},
	}, nil
}
