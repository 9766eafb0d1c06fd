package events

import "time"

// StreamClicks prefixes the streams of clicks: clicks-<day>-<node>. A stream has one writer, the
// node.
const StreamClicks = "clicks-"

// ClicksRecorded carries the clicks that one node collected into one append, of any links.
type ClicksRecorded struct {
	Clicks []Click `json:"clicks"`
}

// EventType implements Event.
func (ClicksRecorded) EventType() string { return "clicks.recorded.v1" }

// Click is one redirect that was answered.
type Click struct {
	URLID   string `json:"url"`
	Visitor string `json:"visitor"` // keyed hash of address and user agent; neither is stored
	// Former is that hash under the key before, while the keys are rotated: whoever has either is
	// the same visitor.
	Former string    `json:"former,omitempty"`
	At     time.Time `json:"at"`

	// Bot marks visits of crawlers, of previews and of browsers that fetch ahead. They are not
	// counted.
	Bot      bool   `json:"bot,omitempty"`
	Referrer string `json:"referrer,omitempty"` // host of the page with the link
	Browser  string `json:"browser,omitempty"`  // name without version, of a fixed list
	OS       string `json:"os,omitempty"`       // name without version, of a fixed list
	Device   string `json:"device,omitempty"`   // desktop, mobile or tablet
	Country  string `json:"country,omitempty"`  // ISO 3166-1 code of two letters
}
