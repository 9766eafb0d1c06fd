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

// recently is the age up to which a time waits for the history projection. The projection applies
// most changes within half a second, in batches, so it may lack part of the time.
const recently = 5 * time.Second

// PastOf returns the Past of a time, or nil for the zero time, which means now.
func PastOf(at time.Time) *contract.Past {
	if at.IsZero() {
		return nil
	}
	return &contract.Past{
		At: at.Format(time.RFC3339Nano), ClicksUntil: response.Time(ClicksUntil(at)),
	}
}

// ClicksUntil returns the end of the day of a time, in UTC.
func ClicksUntil(at time.Time) time.Time {
	const day = 24 * time.Hour
	return at.Add(day - time.Nanosecond).Truncate(day)
}

// Reader reads the parameter at.
type Reader struct {
	Now    func() time.Time
	Waiter *catchup.Waiter
}

// Time returns the value of the parameter at, or the zero time if it is not given. Before it
// returns a recent time, it waits until the history projection shows it, or until the wait times
// out.
func (r Reader) Time(c *request.Context, query url.Values) (time.Time, error) {
	at, err := decode.Time(query, "at")
	now := r.Now()
	switch {
	case err != nil || at.IsZero():
		return time.Time{}, err
	case at.After(now):
		return time.Time{}, &apierror.Error{
			Code:    apierror.CodeInvalidDate,
			Details: "at lies in the future, it is " + now.UTC().Format(time.RFC3339Nano),
		}
	case at.After(now.Add(-recently)):
		r.Waiter.AwaitHistory(c)
	}
	return at, r.Waiter.CheckPlace(catchup.History)
}
