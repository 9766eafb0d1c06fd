package events

import "time"

// StreamLongURL prefixes the stream that keeps an account from making a second link to a long URL
// where it asks for one only: longurl-<account id>-<SHA-256 of the long URL, hex>.
const StreamLongURL = "longurl-"

// LongURLClaimed says which link is about to be the account's link to a long URL. The claim lasts
// until that link leads elsewhere or is deleted.
type LongURLClaimed struct {
	LongURL string    `json:"long_url"`
	URLID   string    `json:"url_id"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (LongURLClaimed) EventType() string { return "long_url.claimed.v1" }
