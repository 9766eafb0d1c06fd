// Package asof lets calls ask for the past: it reads the moment, and says in the answer when it
// was.
package asof

import (
	"net/url"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
)

// recently is how long a moment is asked for while the read model of the past may not have all of
// it: that takes in most changes within half a second, in portions.
const recently = 5 * time.Second

// Past says, beside what was, when that was.
type Past struct {
	At string `json:"at"`
	// ClicksUntil ends the last day whose clicks are counted.
	ClicksUntil response.Timestamp `json:"clicks_until"`
}

// PastOf returns nil for the zero time, which means now.
func PastOf(at time.Time) *Past {
	if at.IsZero() {
		return nil
	}
	return &Past{at.Format(time.RFC3339Nano), response.Timestamp(ClicksUntil(at))}
}

// ClicksUntil is the end of the day in which a moment lies.
func ClicksUntil(at time.Time) time.Time {
	const day = 24 * time.Hour
	return at.Add(day - time.Nanosecond).Truncate(day)
}

// Reader reads which moment a call asks for.
type Reader struct {
	Now    func() time.Time
	Waiter *catchup.Waiter
}

// Time returns the moment that a call asks for; zero: none. It returns when the read model has all
// of it, or when that takes too long.
func (r Reader) Time(c *request.Context, query url.Values) (time.Time, error) {
	text := query.Get("at")
	if text == "" {
		return time.Time{}, nil
	}
	// as a raw + arrives
	at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1))
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	now := r.Now()
	switch {
	case err != nil || at.IsZero() || at.UTC().Year() < 1: // PostgreSQL has no year 0
		return time.Time{}, &apierror.Error{
			Code: apierror.CodeInvalidDate,
			Details: "at must be a time as 2026-01-31T12:00:00Z, or a day, which means its " +
				"beginning",
		}
	case at.After(now):
		return time.Time{}, &apierror.Error{
			Code:    apierror.CodeInvalidDate,
			Details: "at lies in the future, it is " + now.UTC().Format(time.RFC3339Nano),
		}
	case at.After(now.Add(-recently)):
		r.Waiter.AwaitHistory(c)
	}
	return at.UTC(), nil
}
