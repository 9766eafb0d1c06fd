package contract

import "time"

// Event is what a webhook sends, and what the stream of events has.
type Event struct {
	Type      string    `json:"type"` // such as link.created
	Timestamp time.Time `json:"timestamp"`
	Data      EventData `json:"data"`
}

// EventData is what an event is about.
type EventData struct {
	Position uint64      `json:"position"`          // commit position in the log
	Account  string      `json:"account"`           // id
	Actor    *Actor      `json:"actor,omitempty"`   // nil: visitors
	Request  string      `json:"request,omitempty"` // id
	Batch    string      `json:"batch,omitempty"`   // shared by all events of one call
	URL      *URL        `json:"url,omitempty"`     // after the event, without its clicks
	Former   *URL        `json:"former,omitempty"`  // the URL before the event; nil: it was new
	Tag      *TagChange  `json:"tag,omitempty"`
	Clicks   []ClickSent `json:"clicks,omitempty"`
}

// TagChange is a tag that was created, renamed or deleted.
type TagChange struct {
	Label  string `json:"label"`
	Former string `json:"former,omitempty"` // label before a renaming
}

// ClickSent is a click on a URL.
type ClickSent struct {
	Hash     string    `json:"hash"`
	LongURL  string    `json:"long_url"`
	Time     time.Time `json:"time"`
	Visitor  string    `json:"visitor"` // keyed hash of address and user agent
	Robot    bool      `json:"robot"`   // the click is not counted
	Referrer string    `json:"referrer"`
	Country  string    `json:"country"`
	Browser  string    `json:"browser"`
	System   string    `json:"system"`
	Device   string    `json:"device"`
}

// TinyCCClick is a click in the form in which tiny.cc's webhook sends it. Address and agent of the
// visitor are not stored, and so are empty.
type TinyCCClick struct {
	Hash        string    `json:"hash"`
	Domain      string    `json:"domain"`
	RedirectURL string    `json:"redirect_url"`
	Referrer    string    `json:"referrer"`
	Time        time.Time `json:"time"`
	IP          string    `json:"ip"`
	UserAgent   string    `json:"user_agent"`
}
