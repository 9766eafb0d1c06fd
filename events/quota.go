package events

import "time"

// StreamQuota prefixes the streams of accounts whose links are limited in number: quota-<account
// id>.
const StreamQuota = "quota-"

// QuotaChanged gives links room within the limits of their account before they are created, or
// takes back the room of links that never came. Accounts that never had a limit have no such event.
// Each one tells the whole state.
type QuotaChanged struct {
	Reserved []PendingLink `json:"reserved,omitempty"`
	Returned []PendingLink `json:"returned,omitempty"`

	// links that have had room so far, also those deleted since
	Taken      int64  `json:"taken"`
	Month      string `json:"month"`       // YYYY-MM, UTC
	MonthTaken int64  `json:"month_taken"` // links that got room in the month
	// have room, and are not known to be created
	Pending []PendingLink `json:"pending,omitempty"`
	At      time.Time     `json:"at"`
}

// PendingLink is a link that is about to be created or restored, at a time that its creation or
// restoration carries too.
type PendingLink struct {
	URLID string    `json:"url_id"`
	At    time.Time `json:"at"`
	// it was created before, and does not count in the month
	Restored bool `json:"restored,omitempty"`
}

// EventType implements Event.
func (QuotaChanged) EventType() string { return "quota.changed.v1" }
