package links

// This file says in which states links are, and why some do not redirect.

import (
	"slices"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
)

// judge sets the present states of links.
func (h handler) judge(links []link) {
	for i := range links {
		links[i].judge(h.Sessions.Now())
	}
}

// judge sets the states of a link at a time.
func (l *link) judge(now time.Time) {
	l.Is, l.Ends = nil, ""
	if l.ExpirationDate != nil && now.UTC().Format(time.DateOnly) > *l.ExpirationDate {
		l.Is = append(l.Is, "expired")
		l.Ends = "its last day was " + *l.ExpirationDate + ", UTC"
	}
	if l.MaxClicks > 0 && l.Clicks != nil && l.Clicks.TotalClicks >= l.MaxClicks {
		l.Is = append(l.Is, "used up")
		if l.Ends == "" {
			l.Ends = "it was used as often as it may be, " + apierror.Count(l.MaxClicks, "time")
		}
	}
	for _, flag := range slices.Backward(l.Flags()) {
		if flag.Text != "" {
			l.Is = append(l.Is, words.Field(flag.Name))
		}
	}
}

// Ended returns the time of the last visit of a link whose clicks are used up, unless it has
// expired too. Otherwise it returns nil.
func (l *link) Ended() *contract.Timestamp {
	if len(l.Is) > 0 && l.Is[0] == "used up" {
		return l.LastVisit()
	}
	return nil
}
