package audit

// This file follows links whose hash changes. It finds the present hash of a link that had another
// one before, and the hash that a link had at the time of an event.

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/contract"
)

// lastHash returns the hash that a link has, or had when it was deleted.
func lastHash(l contract.LinkLife) string {
	if len(l.Hashes) == 0 {
		return ""
	}
	return l.Hashes[len(l.Hashes)-1].Hash
}

// hashAt returns the hash that a link had at a time. If the link was deleted by then, it returns
// the last hash of the link.
func hashAt(l contract.LinkLife, then time.Time) (hash string) {
	for _, t := range l.Hashes {
		if t.From.After(then) {
			break
		}
		hash = t.Hash
	}
	return hash
}

// Gone says what became of the link that had a hash.
type Gone struct {
	Moved     string    // the last hash of the link; empty: the link has kept the hash
	DeletedAt time.Time // zero: the link is not deleted
}

// Gone says what became of the last link that had the hash. late means that the link still has the
// hash, but the read models do not show the link yet.
func (h History) Gone() (g Gone, late bool) {
	for _, l := range h.lives {
		g = Gone{DeletedAt: l.DeletedAt}
		if last := lastHash(l); last != h.hash {
			g.Moved = last
		} else if l.DeletedAt.IsZero() {
			return g, true
		}
	}
	return g, false
}

// placeEntries sets the field Hash of each entry: the hash that its link had at the time of the
// event. The entries of the page MUST be sorted from the latest to the earliest.
func placeEntries(entries []Entry, lives []contract.LinkLife) {
	byID := make(map[string]contract.LinkLife, len(lives))
	for _, l := range lives {
		byID[l.ID] = l
	}
	before := make(map[string]string) // by link, its hash before the entries that the loop has seen
	for i := range entries {
		e := &entries[i]
		e.Hash = before[e.Link]
		for _, change := range e.Changes {
			if change.Field == "hash" {
				e.Hash, before[e.Link] = textIn(change.After), textIn(change.Before)
			}
		}
		if e.Hash == "" {
			e.Hash = hashAt(byID[e.Link], e.Time)
		}
	}
}

// textIn decodes a text in JSON. It returns "" if the JSON is no text.
func textIn(raw json.RawMessage) (text string) {
	if err := json.Unmarshal(raw, &text); err != nil {
		return ""
	}
	return text
}

// maxFormer bounds the other hashes that Elsewhere asks the API about.
const maxFormer = 5

// Elsewhere looks for a link that has, or once had, the hash, and that had another hash at a time.
// It returns the other hash, or "". It ignores refusals of its own calls, because the page already
// shows why the API refused to show the hash at that time.
func Elsewhere(p *page.Page, hash, at string) string {
	if !mayRead(p) {
		return ""
	}
	var answer contract.HistoryAnswer
	path := "/v3/urls/" + url.PathEscape(hash) + "/history"
	if err := p.Get(path, url.Values{"limit": {"1"}}, &answer); err != nil {
		return ""
	}
	looked := 0
	for _, l := range slices.Backward(answer.History.Links) {
		for _, t := range slices.Backward(l.Hashes) {
			if t.Hash == hash {
				continue
			}
			if looked++; looked > maxFormer {
				return ""
			}
			var found contract.URLsAnswer[contract.URL]
			err := p.Get("/v3/urls/"+url.PathEscape(t.Hash), url.Values{"at": {at}}, &found)
			// Another link may have had the hash t.Hash then. The times of creation tell whether
			// the found link is l.
			if err == nil && len(found.URLs) > 0 &&
				found.URLs[0].CreatedAt.Equal(l.CreatedAt.Truncate(time.Second)) {
				return t.Hash
			}
		}
	}
	return ""
}
