package events

import "time"

// StreamClicks prefixes the streams of clicks: clicks-<day>-<node>. Only that node writes to the
// stream.
const StreamClicks = "clicks-"

// ClicksRecorded carries the clicks on any links that one node collected for one append.
type ClicksRecorded struct {
	Clicks []Click `json:"clicks"`
}

// EventType implements Event.
func (ClicksRecorded) EventType() string { return "clicks.recorded.v1" }

// Click is one redirect that was answered.
type Click struct {
	URLID   string `json:"url"`
	Visitor string `json:"visitor"` // keyed hash of address and user agent; neither is stored
	// Former is the same hash under the former key while the visitor keys are rotated. Clicks
	// that share either hash belong to the same visitor.
	Former string    `json:"former,omitempty"`
	At     time.Time `json:"at"`

	// Bot marks visits by crawlers, link previews and browsers that prefetch. They are not counted.
	Bot      bool   `json:"bot,omitempty"`
	Referrer string `json:"referrer,omitempty"` // host of the referring page
	Browser  string `json:"browser,omitempty"`  // name without version, from a fixed list
	// OS is a name without version, from a fixed list. A click of a robot has it only if its user
	// agent would pass for a person without the words of robots.
	OS      string `json:"os,omitempty"`
	Device  string `json:"device,omitempty"`  // desktop, mobile or tablet
	Country string `json:"country,omitempty"` // ISO 3166-1 alpha-2 code
	// Program is the name of the program in the user agent. Package robots can judge the click
	// again by this name. It is empty for most browsers, and if the verdict can never change.
	Program string `json:"program,omitempty"`
}
