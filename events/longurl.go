package events

import "time"

// StreamLongURL prefixes the stream that gives a long URL at most one link in an account:
// longurl-<account id>-<SHA-256 of the long URL, hex>. It is used only if the account asks for a
// unique link.
const StreamLongURL = "longurl-"

// LongURLClaimed reserves a long URL for a link that is about to be created. The claim lasts until
// that link is retargeted or deleted.
type LongURLClaimed struct {
	LongURL string    `json:"long_url"`
	URLID   string    `json:"url_id"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (LongURLClaimed) EventType() string { return "long_url.claimed.v1" }
