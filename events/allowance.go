package events

import "time"

// StreamAllowance prefixes the streams of links that may be clicked a limited number of times:
// allowance-<url id>.
const StreamAllowance = "allowance-"

// AllowanceUsed takes clicks from what a link with a limit may have, before their visitors are
// redirected. Links that never had a limit have no such event.
type AllowanceUsed struct {
	Clicks int64 `json:"clicks"` // taken by this event
	// of the link's limit, after this event; clicks from before the limit included
	Used int64     `json:"used"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (AllowanceUsed) EventType() string { return "allowance.used.v1" }
