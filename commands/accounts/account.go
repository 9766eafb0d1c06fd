// Package accounts opens, changes and erases accounts, and makes and checks their API keys.
package accounts

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"linkledger/events"
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
	Erased         bool   // its notes are deleted, and it cannot be used
}

func fold(history []events.Event) Account {
	var a Account
	for _, e := range history {
		switch e := e.(type) {
		case events.AccountOpened:
			a = Account{
				ID: e.Account, Username: e.Username, Plan: e.Plan, KeyID: e.KeyID,
				KeyHash: e.KeyHash, Active: true,
			}
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

// Change is a change of an account. Nil fields stay as they are.
type Change struct {
	Plan           *string
	ExpirationDate *string // YYYY-MM-DD, the last day of its use, UTC; empty: never
}

func (a Account) edit(edit Change, at time.Time) []events.Event {
	var changes []events.Event
	if edit.Plan != nil && *edit.Plan != a.Plan {
		changes = append(changes, events.PlanChanged{Plan: *edit.Plan, At: at})
	}
	if edit.ExpirationDate != nil && *edit.ExpirationDate != a.ExpirationDate {
		changes = append(
			changes, events.AccountExpiryChanged{ExpirationDate: *edit.ExpirationDate, At: at},
		)
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

func (a Account) erase(at time.Time) []events.Event {
	if a.Erased {
		return nil
	}
	return []events.Event{events.AccountErased{At: at}}
}
