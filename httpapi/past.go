package httpapi

import (
	"net/url"
	"strings"
	"time"
)

// recently is how long a moment is asked for while the read model of the past may not have all of it: that takes in most
// changes within half a second, in portions.
const recently = 5 * time.Second

// past says, beside what was, when that was.
type past struct {
	At string `json:"at"`
	// ClicksUntil ends the last day whose clicks are counted.
	ClicksUntil timestamp `json:"clicks_until"`
}

// pastOf returns nil for the zero time, which means now.
func pastOf(at time.Time) *past {
	if at.IsZero() {
		return nil
	}
	return &past{at.Format(time.RFC3339Nano), timestamp(clicksUntil(at))}
}

// clicksUntil is the end of the day in which a moment lies.
func clicksUntil(at time.Time) time.Time {
	const day = 24 * time.Hour
	return at.Add(day - time.Nanosecond).Truncate(day)
}

// asOfReader reads which moment a call asks for.
type asOfReader struct {
	Now    func() time.Time
	Waiter *waiter
}

// moment returns the moment that a call asks for; zero: none. It returns when the read model has all of it, or when that takes
// too long.
func (r asOfReader) moment(c *exchange, query url.Values) (time.Time, error) {
	text := query.Get("at")
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1)) // as a raw + arrives
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	now := r.Now()
	switch {
	case err != nil || at.IsZero() || at.UTC().Year() < 1: // PostgreSQL has no year 0
		return time.Time{}, &apiError{code: codeInvalidDate, details: "at must be a time as 2026-01-31T12:00:00Z, or a day, which means its beginning"}
	case at.After(now):
		return time.Time{}, &apiError{code: codeInvalidDate, details: "at lies in the future, it is " + now.UTC().Format(time.RFC3339Nano)}
	case at.After(now.Add(-recently)):
		r.Waiter.awaitHistory(c)
	}
	return at.UTC(), nil
}
