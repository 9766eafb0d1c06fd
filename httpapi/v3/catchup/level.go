package catchup

import (
	"strconv"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// CheckPlace fails with status 503 while read models are rebuilt because they have events that the
// log lacks. It checks the read models that every call needs, and the read models of the given
// projections.
func (w *Waiter) CheckPlace(projections ...string) error {
	if w.Misplaced == nil ||
		!w.Misplaced(Links, tags, accounts) && !w.Misplaced(projections...) {
		return nil
	}
	return apierror.Late("The read models have events that the log lacks, and are rebuilt from " +
		"the log: repeat the call later")
}

// SayBehind sets a header with the age of the oldest change that the response may lack, if that age
// is more than a few seconds.
func (w *Waiter) SayBehind(c *request.Context, projections ...string) {
	if behind := w.behind(append(projections, Links, tags)...); behind > 0 {
		c.Header().Set(
			response.HeaderBehind, strconv.FormatInt(int64(behind/time.Second), 10),
		)
	}
}

// LinksBehind reports whether the read models may lack changes of links or tags.
func (w *Waiter) LinksBehind() bool { return w.behind(Links, tags) > 0 }

func (w *Waiter) behind(projections ...string) time.Duration {
	if w.Behind == nil {
		return 0
	}
	return w.Behind(projections...)
}
