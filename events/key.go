package events

import "time"

// KeyTerms limit what an API key may do. A key with zero KeyTerms may do everything, from anywhere,
// for ever.
type KeyTerms struct {
	Name string `json:"name,omitempty"`
	// Scopes are the kinds of calls that the key may make, such as links:read. Empty: all.
	Scopes []string `json:"scopes,omitempty"`
	// Tags is a tag expression. The key sees and changes only the links that match. Empty: all.
	Tags string `json:"tags,omitempty"`
	// Networks are the networks that calls with the key may come from, in CIDR notation. Empty:
	// all.
	Networks []string `json:"networks,omitempty"`
	Expires  string   `json:"expires,omitempty"` // YYYY-MM-DD, the last day, UTC; empty: never
}

// KeyAdded adds an API key to the account.
type KeyAdded struct {
	KeyID   string `json:"key_id"`
	KeyHash string `json:"key_hash"` // SHA-256 of the key, hex
	KeyTerms
	At time.Time `json:"at"`
}

// EventType implements Event.
func (KeyAdded) EventType() string { return "account.key_added.v1" }

// KeyChanged replaces the terms of an API key.
type KeyChanged struct {
	KeyID string `json:"key_id"`
	KeyTerms
	At time.Time `json:"at"`
}

// EventType implements Event.
func (KeyChanged) EventType() string { return "account.key_changed.v1" }

// KeyRevoked ends an API key for ever. Its name and terms stay in the history.
type KeyRevoked struct {
	KeyID string    `json:"key_id"`
	At    time.Time `json:"at"`
}

// EventType implements Event.
func (KeyRevoked) EventType() string { return "account.key_revoked.v1" }
