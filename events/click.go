package events

import "time"

// StreamClicks prefixes the streams of clicks: clicks-<day>-<node>. Only that node writes to the
// stream.
const StreamClicks = "clicks-"

// ClicksRecorded has the clicks that one node collected for one append. They may be clicks on any
// links.
type ClicksRecorded struct {
	Clicks []Click `json:"clicks"`
}

// EventType implements Event.
func (ClicksRecorded) EventType() string { return "clicks.recorded.v1" }

// Click is one visit that was answered with a redirect.
type Click struct {
	URLID   string `json:"url"`
	Visitor string `json:"visitor"` // keyed hash of address and user agent; neither is stored
	// Former is the hash of the same visitor under the former key while the visitor keys are
	// rotated. Clicks that share either hash belong to the same visitor.
	Former string    `json:"former,omitempty"`
	At     time.Time `json:"at"`

	// Bot marks visits by crawlers, link previews and browsers that prefetch. Such visits are not
	// counted.
	Bot      bool   `json:"bot,omitempty"`
	Referrer string `json:"referrer,omitempty"` // host of the referring page
	Browser  string `json:"browser,omitempty"`  // name without version, from a fixed list
	// OS is a name without version, from a fixed list. A click of a robot has an OS only if its
	// user agent, without the words of robots in it, would pass for a person's.
	OS      string `json:"os,omitempty"`
	Device  string `json:"device,omitempty"`  // desktop, mobile or tablet
	Country string `json:"country,omitempty"` // ISO 3166-1 alpha-2 code
	// Program is the name of the program in the user agent, by which package robots can judge the
	// click again. If it is empty, as for most browsers, the verdict never changes.
	Program string `json:"program,omitempty"`
}
