package archive

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// owner knows which events are those of one account, when it sees the log from its start: those of
// the account, its tags, its links and their hashes, and what it used of its limits. Clicks of many
// accounts lie together in one event, which is nobody's alone.
type owner struct {
	account string
	links   map[uuid.UUID]struct{}
}

func (o *owner) owns(r eventstore.Recorded) (bool, error) {
	if id, ok := strings.CutPrefix(r.Stream, events.StreamURL); ok {
		return o.ownsLink(id, r)
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

// ownsLink goes by the creation, which alone names the account.
func (o *owner) ownsLink(id string, r eventstore.Recorded) (bool, error) {
	link, err := uuid.Parse(id)
	if err != nil {
		return false, nil //nolint:nilerr // no stream of a link
	}
	if r.Type == (events.URLCreated{}).EventType() {
		if accountIn(r) != o.account {
			return false, nil
		}
		o.links[link] = struct{}{}
	}
	_, known := o.links[link]
	return known, nil
}

// accountIn returns the account that an event names; empty: none, or the event is not one of
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
