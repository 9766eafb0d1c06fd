package events

import "time"

// StreamAllowance prefixes the stream of a link with a click limit: allowance-<url id>.
const StreamAllowance = "allowance-"

// AllowanceUsed consumes clicks of the limit of a link before the visitors are redirected. A link
// that never had a limit has no such event.
type AllowanceUsed struct {
	Clicks int64 `json:"clicks"` // consumed by this event
	// Used is the number of consumed clicks after this event, including clicks from before the
	// limit was set.
	Used int64     `json:"used"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (AllowanceUsed) EventType() string { return "allowance.used.v1" }
