// Package asof reads the parameter at of calls about the past, and builds the part of the response
// that states the time.
package asof

import (
	"net/url"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
)

// recently is the age below which a time in the past counts as recent. A call about a recent time
// waits for the history projection. That projection applies changes in batches, most of them within
// half a second, so it may still lack changes that were made before the recent time.
const recently = 5 * time.Second

// PastOf returns the part of the response that states the time at, or nil if at is zero, which
// means now.
func PastOf(at time.Time) *contract.Past {
	if at.IsZero() {
		return nil
	}
	return &contract.Past{
		At: at.Format(time.RFC3339Nano), ClicksUntil: response.Time(ClicksUntil(at)),
	}
}

// ClicksUntil returns the end of the UTC day of a past time. A response about the past time counts
// the clicks until the end of that day.
func ClicksUntil(at time.Time) time.Time {
	const day = 24 * time.Hour
	return at.Add(day - time.Nanosecond).Truncate(day)
}

// Reader reads the parameter at.
type Reader struct {
	Now    func() time.Time
	Waiter *catchup.Waiter
}

// Time returns the value of the parameter at, or the zero time if it is not given. If the time is
// recent, Time first waits until the history projection has the changes that other projections may
// show already, or until the wait times out.
func (r Reader) Time(c *request.Context, query url.Values) (time.Time, error) {
	at, err := decode.Time(query, "at")
	now := r.Now()
	switch {
	case err != nil || at.IsZero():
		return time.Time{}, err
	case at.After(now):
		return time.Time{}, &apierror.Error{
			Code:    apierror.CodeInvalidDate,
			Details: "at lies in the future: now it is " + now.UTC().Format(time.RFC3339Nano),
		}
	case at.After(now.Add(-recently)):
		r.Waiter.AwaitHistory(c)
	}
	return at, r.Waiter.CheckPlace(catchup.History)
}
