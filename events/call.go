package events

import "time"

// StreamCall prefixes the stream of an API call with an Idempotency-Key: call-<account id>-<SHA-256
// of account id and key, hex>. The stream has one event.
const StreamCall = "call-"

// CallKeyed binds an Idempotency-Key to one API call. It is appended before the call has any
// effect, so no other call can use the key.
type CallKeyed struct {
	Account string `json:"account"`
	// Digest is the HMAC-SHA-256 of method, path, query and payload in hex. Its secret is the
	// Idempotency-Key, which is not stored.
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// EventType implements Event.
func (CallKeyed) EventType() string { return "call.keyed.v1" }
