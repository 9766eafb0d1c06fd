package events

import "time"

// StreamLongURL prefixes the stream that prevents a second link of an account to the same long URL
// if the account asks for a unique one: longurl-<account id>-<SHA-256 of the long URL, hex>.
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
