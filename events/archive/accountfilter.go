package archive

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// accountFilter selects the events of one account, its tags, its links with their hashes, and its
// use of limits. It MUST be given the log from the start, because the creation of a link names the
// account and most later events of the link do not. It selects no clicks, because one event has
// clicks of many accounts.
type accountFilter struct {
	account string
	links   map[uuid.UUID]struct{}
}

func (o *accountFilter) matches(r eventstore.Recorded) (bool, error) {
	isClaim := strings.HasPrefix(r.Type, "hash.")
	if id, ok := events.LinkIn(r.Stream); ok && !isClaim {
		return o.matchesLink(id, r)
	}
	for _, prefix := range []string{
		events.StreamAccount, events.StreamTags, events.StreamLongURL, events.StreamQuota,
		events.StreamUsage, events.StreamCall,
	} {
		if rest, ok := strings.CutPrefix(r.Stream, prefix); ok {
			return rest == o.account || strings.HasPrefix(rest, o.account+"-"), nil
		}
	}
	if strings.HasPrefix(r.Stream, events.StreamHash) ||
		strings.HasPrefix(r.Stream, events.StreamUsername) {
		return accountIn(r) == o.account, nil
	}
	return false, nil
}

// matchesLink reports whether an event belongs to a link of the account. It remembers the links of
// the account from their creation on, because most later events do not name the account.
func (o *accountFilter) matchesLink(id string, r eventstore.Recorded) (bool, error) {
	link, err := uuid.Parse(id)
	if err != nil {
		return false, nil //nolint:nilerr // not the stream of a link
	}
	if strings.HasPrefix(r.Type, "url.created.") {
		if accountIn(r) != o.account {
			return false, nil
		}
		o.links[link] = struct{}{}
	}
	_, known := o.links[link]
	return known, nil
}

// accountIn returns the account that an event names, or "" if it names none or is not an event of
// Linkledger.
func accountIn(r eventstore.Recorded) string {
	var body struct {
		Account string `json:"account"`
	}
	if json.Unmarshal(r.Data, &body) != nil {
		return ""
	}
	return body.Account
}
