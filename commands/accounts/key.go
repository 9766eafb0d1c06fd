package accounts

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/events"
)

// MaxKeys is the most API keys of an account, without the revoked ones. A login compares a key with
// each of them.
const MaxKeys = 100

// Key is an API key of an account.
type Key struct {
	events.KeyTerms

	ID        string
	Hash      string // as HashKey returns it
	AddedAt   time.Time
	RevokedAt time.Time // zero: it is not revoked
	// Maker is the id of the person who added the key, also by way of other keys. It is empty if an
	// operator did, or the key with which the account was opened.
	Maker string
}

func (k *Key) revoke(at time.Time) {
	if k.RevokedAt.IsZero() {
		k.RevokedAt = at
	}
}

func (a *Account) addKey(k Key) { a.Keys = append(a.Keys, k) }

// key returns the key with an id, or nil.
func (a *Account) key(id string) *Key {
	for i := range a.Keys {
		if a.Keys[i].ID == id {
			return &a.Keys[i]
		}
	}
	return nil
}

// KeyName returns the name of a key, also of a revoked one. It is empty if there is none.
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

// mayChangeKey refuses with AccessDenied if the caller may do less than a key may.
func (a *Account) mayChangeKey(r domain.Request, k Key) error {
	return a.mayGrant(r, access.Keys, k.KeyTerms)
}

// addNewKey decides that a key is added. It decides nothing if the account has a key with that id:
// the id derives from the command, so an earlier attempt has added it.
func (a *Account) addNewKey(
	r domain.Request, key apiKey, terms events.KeyTerms, at time.Time,
) ([]events.Event, error) {
	if a.key(key.id) != nil {
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
		events.KeyAdded{KeyID: key.id, KeyHash: key.hash, KeyTerms: terms, At: at},
	}, nil
}

// KeyChange is a change of the terms of a key. Nil fields stay as they are.
type KeyChange struct {
	Name     *string
	Scopes   *[]string
	Tags     *string
	Networks *[]string
	Expires  *string
}

// Apply returns the terms with the change.
func (c KeyChange) Apply(terms events.KeyTerms) events.KeyTerms {
	set(&terms.Name, c.Name)
	set(&terms.Scopes, c.Scopes)
	set(&terms.Tags, c.Tags)
	set(&terms.Networks, c.Networks)
	set(&terms.Expires, c.Expires)
	return terms
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// apiKey is a new key: the caller sees the key once, the log keeps its id and hash.
type apiKey struct {
	id, key, hash string
}

// newAPIKey returns a key whose id derives from a command, so that a repeated command finds its
// key. The key itself is random.
func newAPIKey(command uuid.UUID) apiKey {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	key := "lk_" + base64.RawURLEncoding.EncodeToString(random)
	id := uuid.NewSHA1(command, []byte("key"))
	return apiKey{id: hex.EncodeToString(id[:6]), key: key, hash: HashKey(key)}
}

// HashKey returns what is stored of an API key. It needs no salt and no slow hash: keys are 32
// random bytes, which are beyond guessing.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// noKeyHash stands for the stored hash where there is none. It is the hash of no known key.
var noKeyHash = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// SameKey reports whether the hash of an API key is the stored one. It takes the same time in each
// case, also if stored is empty.
func SameKey(hash, stored string) bool {
	return subtle.ConstantTimeCompare([]byte(hash), []byte(cmp.Or(stored, noKeyHash))) == 1
}
