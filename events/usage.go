package events

import "time"

// StreamUsage prefixes the streams of metered API calls: usage-<account id>-<YYYY-MM>.
const StreamUsage = "usage-"

// CallsMetered adds the API calls of an account that one node answered in about one second. If
// calls of a later day are already recorded, the calls of this event count in the month only.
type CallsMetered struct {
	Calls      int64     `json:"calls"`       // added by this event
	Day        string    `json:"day"`         // YYYY-MM-DD, UTC
	DayCalls   int64     `json:"day_calls"`   // of the day, after this event
	MonthCalls int64     `json:"month_calls"` // of the month, after this event
	At         time.Time `json:"at"`
}

// EventType implements Event.
func (CallsMetered) EventType() string { return "usage.metered.v1" }
