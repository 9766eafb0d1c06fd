package events

import "time"

// StreamAccount prefixes the stream of one account: account-<account id>.
const StreamAccount = "account-"

// StreamUsername prefixes the stream that keeps a user name unique: username-<name>.
const StreamUsername = "username-"

// UsernameClaimed assigns a user name to an account permanently.
type UsernameClaimed struct {
	Username string    `json:"username"`
	Account  string    `json:"account"`
	At       time.Time `json:"at"`
}

// EventType implements Event.
func (UsernameClaimed) EventType() string { return "username.claimed.v1" }

// AccountOpened opens an account with its first API key.
type AccountOpened struct {
	Account  string `json:"account"`
	Username string `json:"username"`
	Plan     string `json:"plan"`
	KeyID    string `json:"key_id"`
	// KeyHash is the SHA-256 of the key in hex. The key itself is not stored.
	KeyHash string    `json:"key_hash"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (AccountOpened) EventType() string { return "account.opened.v1" }

// KeyRotated ends all API keys of the account and adds one that may do everything.
type KeyRotated struct {
	KeyID   string    `json:"key_id"`
	KeyHash string    `json:"key_hash"` // SHA-256 of the key, hex
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (KeyRotated) EventType() string { return "account.key_rotated.v1" }

// PlanChanged moves the account to another plan.
type PlanChanged struct {
	Plan string    `json:"plan"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (PlanChanged) EventType() string { return "account.plan_changed.v1" }

// AccountExpiryChanged sets the last day on which the account may use the API and its links work.
type AccountExpiryChanged struct {
	ExpirationDate string    `json:"expiration_date,omitempty"` // YYYY-MM-DD, UTC; empty: never
	At             time.Time `json:"at"`
}

// EventType implements Event.
func (AccountExpiryChanged) EventType() string { return "account.expiry_changed.v1" }

// AccountDeactivated bars the account from the API and stops its links.
type AccountDeactivated struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (AccountDeactivated) EventType() string { return "account.deactivated.v1" }

// AccountReactivated undoes AccountDeactivated.
type AccountReactivated struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (AccountReactivated) EventType() string { return "account.reactivated.v1" }

// AccountErased permanently ends an account. Its links continue to work. The encryption key of its
// notes is deleted after this event, which makes the notes unreadable in all events.
type AccountErased struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (AccountErased) EventType() string { return "account.erased.v1" }
