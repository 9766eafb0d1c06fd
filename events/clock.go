package events

// This file bounds what the clocks of other nodes can do.

import "time"

// MaxLead is how far ahead of one's own clock a time in the log may be. A time that is further
// ahead was written by a clock that was wrong, and holds nothing up.
const MaxLead = 5 * time.Minute

// IsFarAhead reports whether a time in the log is of a clock that was wrong.
func IsFarAhead(at, now time.Time) bool { return at.After(now.Add(MaxLead)) }

// IsOver reports whether more than a time has passed since something began. What began far ahead is
// over.
func IsOver(began, now time.Time, after time.Duration) bool {
	return now.Sub(began) >= after || IsFarAhead(began, now)
}
