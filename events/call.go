package events

import "time"

// StreamCall prefixes the stream of an API call that its client has named: call-<account
// id>-<SHA-256 of account id and name, hex>. It has one event.
const StreamCall = "call-"

// CallKeyed says what a client has named by an Idempotency-Key, before any of it is done: the key
// is that of no other call.
type CallKeyed struct {
	Account string `json:"account"`
	// HMAC-SHA-256 of method, path, query and payload under the name, which is not stored; hex
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// EventType implements Event.
func (CallKeyed) EventType() string { return "call.keyed.v1" }
