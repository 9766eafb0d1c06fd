package events

import "time"

// StreamQuota prefixes the stream of an account with a limited number of links: quota-<account id>.
const StreamQuota = "quota-"

// QuotaChanged reserves quota of an account for links before they are created, or returns the quota
// of links that were never created. An account that never had a limit has no such event. Taken,
// Month, MonthTaken and Pending are the whole state after the event.
type QuotaChanged struct {
	Reserved []PendingLink `json:"reserved,omitempty"`
	Returned []PendingLink `json:"returned,omitempty"`

	// Taken is the number of links that have received quota so far, including links that were
	// deleted since.
	Taken      int64  `json:"taken"`
	Month      string `json:"month"`       // YYYY-MM, UTC
	MonthTaken int64  `json:"month_taken"` // links that received quota in the month
	// Pending are the links that hold quota and are not known to exist yet.
	Pending []PendingLink `json:"pending,omitempty"`
	At      time.Time     `json:"at"`
}

// PendingLink is a link that is about to be created or restored. At is also the time in its
// URLCreated or URLRestored.
type PendingLink struct {
	URLID string    `json:"url_id"`
	At    time.Time `json:"at"`
	// Restored means that the link existed before and does not count in the month.
	Restored bool `json:"restored,omitempty"`
}

// EventType implements Event.
func (QuotaChanged) EventType() string { return "quota.changed.v1" }
