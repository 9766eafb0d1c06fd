package console

// This file says in which states links are, and why some do not redirect.

import (
	"encoding/json"
	"time"

	"linkledger/httpapi/apierror"
)

// judge sets the states of links, as they are now.
func (h *Handler) judge(links []linkRecord) {
	for i := range links {
		links[i].judge(h.cfg.Sessions.Now())
	}
}

// judge sets the states of a link at a time.
func (l *linkRecord) judge(now time.Time) {
	l.Is, l.Ends = nil, ""
	if l.ExpirationDate != nil && now.UTC().Format(time.DateOnly) > *l.ExpirationDate {
		l.Is = append(l.Is, "expired")
		l.Ends = "its last day was " + *l.ExpirationDate + ", UTC"
	}
	if l.MaxClicks > 0 && l.TotalClicks != nil && *l.TotalClicks >= l.MaxClicks {
		l.Is = append(l.Is, "used up")
		if l.Ends == "" {
			l.Ends = "it was used as often as it may be, " + apierror.Count(l.MaxClicks, "time")
		}
	}
	if l.Archived {
		l.Is = append(l.Is, "archived")
	}
	if l.Protected {
		l.Is = append(l.Is, "protected")
	}
}

// Ended is when a link that does not redirect was followed last, if that is what ended it.
func (l *linkRecord) Ended() *time.Time {
	if len(l.Is) > 0 && l.Is[0] == "used up" {
		return l.LastVisit
	}
	return nil
}

// flagOf is a flag of a link that is set, and since when. Since is zero if the part of the history
// that the page has does not tell.
type flagOf struct {
	Text  string
	Since time.Time
}

// Flags returns the flags of the link that are set, with what they mean.
func (d linkData) Flags() (set []flagOf) {
	if d.Link.Archived {
		set = append(set, flagOf{"Archived, and redirects as before", d.since("archived")})
	}
	if d.Link.Protected {
		set = append(set, flagOf{"Protected: it cannot be deleted", d.since("protected")})
	}
	return set
}

// since returns when a flag was set last.
func (d linkData) since(field string) time.Time {
	for _, e := range d.History { // the latest first
		for _, change := range e.Changes {
			if change.Field != field {
				continue
			}
			var on bool
			if err := json.Unmarshal(change.After, &on); err == nil && on {
				return e.Time
			}
			return time.Time{}
		}
	}
	return time.Time{}
}
