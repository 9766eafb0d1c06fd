package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/sealing"
)

// SealingKeys has the keys that encrypt the notes of accounts and the details of people in the log.
// In the methods, account is the id of the owner of a key, which is an account or a user. When an
// owner is erased, the key is deleted for good.
type SealingKeys interface {
	// AccountKey returns the key of an account that has one; nil: the account was erased.
	AccountKey(ctx context.Context, account string) ([]byte, error)
	// MakeAccountKey returns the key of an account and creates it at the first call. It returns nil
	// if the account was erased.
	MakeAccountKey(ctx context.Context, account string) ([]byte, error)
	// IsLost reports whether the key is lost that encrypted the account's event at a commit
	// position. unreadable is true if the present key of the account did not encrypt the event.
	IsLost(ctx context.Context, account string, position uint64, unreadable bool) (bool, error)
	// EraseAccountKey deletes the key of an account. The account MUST NOT get another one.
	EraseAccountKey(ctx context.Context, account string) error
}

const (
	// keyLifetime is the longest time that a process caches keys, and so can read erased notes.
	keyLifetime = time.Minute
	// maxCachedKeys bounds the cached keys. A full cache is emptied, which costs a look-up per key.
	maxCachedKeys = 10_000
)

// ErrNoKey means that the key of an account or a user is unavailable. Nothing was written; the same
// command may be repeated.
var ErrNoKey = errors.New("no key for notes and details of people")

var (
	// ErrNoKeys means that notes are sealed and this process has no keys.
	ErrNoKeys = errors.New("personal data is encrypted here, and this process has no keys")
	// errErased refuses personal data of an account or a user that was erased during the command.
	errErased = &domain.Error{
		Kind: domain.AccountGone, Details: "The account or the person has been erased",
	}
)

// personalCipher seals and opens notes and details of people. It caches keys for keyLifetime at
// most. It is safe for concurrent use.
type personalCipher struct {
	keys  SealingKeys // nil: there are none
	seals bool

	mu    sync.Mutex
	known map[string]*sealing.Key // by account; nil: erased
	since time.Time               // no key in known was looked up earlier
}

func (c *personalCipher) key(
	ctx context.Context, account string, lookUp func(context.Context, string) ([]byte, error),
) (*sealing.Key, error) {
	c.mu.Lock()
	if now := time.Now(); len(c.known) >= maxCachedKeys || now.Sub(c.since) > keyLifetime {
		c.known, c.since = make(map[string]*sealing.Key), now
	}
	key, ok := c.known[account]
	// If the cache is emptied during the look-up, the key goes to the former map, which is garbage.
	into := c.known
	c.mu.Unlock()
	if ok {
		return key, nil
	}
	secret, err := lookUp(ctx, account)
	if err == nil && secret != nil {
		key, err = sealing.NewKey(secret)
	}
	if err != nil {
		return nil, fmt.Errorf("%w of account %s: %w", ErrNoKey, account, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	into[account] = key
	return key, nil
}

// sealAll returns the events with their personal data sealed.
func (c *personalCipher) sealAll(
	ctx context.Context, account, stream string, plain []events.Event,
) ([]events.Event, error) {
	if !c.seals {
		return plain, nil
	}
	var sealed []events.Event
	for i, e := range plain {
		if !sealing.HasPersonal(e) {
			continue
		}
		if sealed == nil {
			sealed = append(sealed, plain...)
		}
		owner := sealing.KeyOwner(e, account)
		key, err := c.key(ctx, owner, c.keys.MakeAccountKey)
		if err != nil {
			return nil, err
		}
		if key == nil {
			return nil, errErased
		}
		if sealed[i], err = sealing.Seal(e, key, owner, stream); err != nil {
			return nil, err
		}
	}
	if sealed == nil {
		return plain, nil
	}
	return sealed, nil
}

// open returns a stored event with its personal data opened.
func (c *personalCipher) open(
	ctx context.Context, e events.Event, stream string,
) (events.Event, error) {
	sealed := sealing.SealedOf(e)
	if sealed == nil {
		return e, nil
	}
	if c.keys == nil {
		return nil, ErrNoKeys
	}
	key, err := c.key(ctx, sealed.Account, c.keys.AccountKey)
	if err != nil {
		return nil, err
	}
	return sealing.Open(e, key, stream)
}

// isLost reports whether an event could not be opened because its key is lost.
func (c *personalCipher) isLost(
	ctx context.Context, e events.Event, position uint64, cause error,
) bool {
	if c.keys == nil {
		return false
	}
	lost, err := c.keys.IsLost(
		ctx, sealing.SealedOf(e).Account, position, errors.Is(cause, sealing.ErrUnreadable),
	)
	return err == nil && lost
}

// openAll returns stored events with their personal data opened. It does not change stored. If it
// returns an error, failed is the index of the event that caused the error.
func (c *personalCipher) openAll(
	ctx context.Context, stored []events.Event, recorded []eventstore.Recorded, stream string,
) (opened []events.Event, failed int, err error) {
	for i, e := range stored {
		if sealing.SealedOf(e) == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, i, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		if opened == nil {
			opened = slices.Clone(stored)
		}
		if opened[i], err = c.open(ctx, e, stream); err != nil {
			if !c.isLost(ctx, e, recorded[i].Position.Commit, err) {
				return nil, i, err
			}
			opened[i] = sealing.Lose(e)
		}
	}
	if opened == nil {
		return stored, 0, nil
	}
	return opened, 0, nil
}
