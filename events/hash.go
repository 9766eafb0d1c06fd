package events

import "time"

// StreamHash prefixes the stream of one hash's life: hash-<hash>. Its first append demands that no
// such stream exists, so a hash has one owner without asking any read model.
const StreamHash = "hash-"

// HashClaimed reserves a hash for a link that is about to be created or renamed.
type HashClaimed struct {
	Hash    string    `json:"hash"`
	URLID   string    `json:"url_id"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (HashClaimed) EventType() string { return "hash.claimed.v1" }

// HashReleased ends a claim. Only the account that held it may claim the hash again.
type HashReleased struct {
	Hash    string    `json:"hash"`
	URLID   string    `json:"url_id"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (HashReleased) EventType() string { return "hash.released.v1" }
