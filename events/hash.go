package events

import "time"

// StreamHash prefixes the stream of one hash: hash-<hash>. The first append expects that the stream
// does not exist, so only one link can claim a hash, without a query to a read model.
const StreamHash = "hash-"

// HashClaimed reserves a hash for a link that is about to be created, renamed or restored. A link
// with a generated hash needs no HashClaimed, because its URLCreated lies in the stream of the
// hash.
type HashClaimed struct {
	Hash    string    `json:"hash"`
	URLID   string    `json:"url_id"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (HashClaimed) EventType() string { return "hash.claimed.v1" }

// HashReleased ends the claim of a link on a hash. Only the account of that link may claim the hash
// again.
type HashReleased struct {
	Hash    string    `json:"hash"`
	URLID   string    `json:"url_id"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (HashReleased) EventType() string { return "hash.released.v1" }
