package domain

import (
	"slices"
	"time"

	"linkledger/events"
)

// ErrHashGivenAway returns the refusal to restore a link whose hash another link has.
func ErrHashGivenAway(hash string) error {
	return &Error{
		Kind: HashUnavailable, Fields: []string{"hash"},
		Details: "The hash \"" + hash +
			"\" belongs to another URL by now, rename or delete that one first",
	}
}

// Restore returns the events that give the link the state of was. claim is the revision of the
// claim of was.Hash. If the link is live and has that hash, claim is not used.
func (u Link) Restore(was Link, claim events.Revision, at time.Time) []events.Event {
	var changes []events.Event
	if u.Deleted {
		u.Hash = was.Hash
		changes = append(changes, events.URLRestored{
			//nolint:gosec // a claim's revision is not negative
			Account: u.Account, Hash: was.Hash, ClaimRevision: uint64(claim), At: at,
		})
	}
	note := was.Note
	// A former version may have stored a note that is not allowed now, so it is trimmed.
	// events.LostKey is longer than a note may be, but stays whole.
	if note != u.Note && note != events.LostKey {
		note = TrimNote(note)
	}
	changes = append(changes, u.Edit(LinkChange{
		Hash: &was.Hash, Claim: claim, LongURL: &was.LongURL,
		Note: &note, Settings: was.Change(),
	}, at)...)
	return append(changes, u.retag(was.Tags, at)...)
}

// retag returns the events after which the link has exactly these tags, in this order.
func (u Link) retag(tags []string, at time.Time) []events.Event {
	var changes []events.Event
	var detach []string
	kept := 0
	for _, id := range u.Tags {
		if kept < len(tags) && tags[kept] == id {
			kept++
			continue
		}
		detach = append(detach, id)
	}
	if len(detach) > 0 {
		changes = append(changes, events.URLUntagged{Tags: detach, At: at})
	}
	if kept < len(tags) {
		changes = append(changes, events.URLTagged{Tags: slices.Clone(tags[kept:]), At: at})
	}
	return changes
}
