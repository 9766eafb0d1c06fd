package events

// This file limits the harm that the wrong clock of another node can do.

import "time"

// MaxLead is how far a time in the log may be ahead of the clock of this node. Nothing waits for a
// time that is further ahead, because a wrong clock wrote it.
const MaxLead = 5 * time.Minute

// IsFarAhead reports whether a time in the log is more than MaxLead after now, which only a wrong
// clock writes.
func IsFarAhead(at, now time.Time) bool { return at.After(now.Add(MaxLead)) }

// IsOver reports whether at least the duration after has passed since began, or began is far ahead
// of now.
func IsOver(began, now time.Time, after time.Duration) bool {
	return now.Sub(began) >= after || IsFarAhead(began, now)
}
