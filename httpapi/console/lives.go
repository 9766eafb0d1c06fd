package console

// This file follows links through their hashes: where a link is now that has left a hash, and by
// which hash it was called when something happened to it.

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"linkledger/httpapi/console/page"
)

// life is the outline of the history of a link that has or had a hash.
type life struct {
	ID        string    `json:"id"`
	Tenures   []tenure  `json:"hashes"` // in the order of time
	CreatedAt time.Time `json:"created_at"`
	DeletedAt time.Time `json:"deleted_at"`
}

// tenure is a time from which on a link had a hash.
type tenure struct {
	Hash string    `json:"hash"`
	From time.Time `json:"from"`
}

// last returns the hash that the link has, or had when it was deleted.
func (l life) last() string {
	if len(l.Tenures) == 0 {
		return ""
	}
	return l.Tenures[len(l.Tenures)-1].Hash
}

// at returns the hash that the link had at a time, or had before it if it was deleted by then.
func (l life) at(then time.Time) (hash string) {
	for _, t := range l.Tenures {
		if t.From.After(then) {
			break
		}
		hash = t.Hash
	}
	return hash
}

// gone is what became of the link that had a hash.
type gone struct {
	Moved     string    // its other hash; empty: it has kept this one
	DeletedAt time.Time // zero: it lives
}

// goneOf returns what became of the last link that had a hash. Late means that it has it, and the
// read models do not know.
func goneOf(hash string, lives []life) (g gone, late bool) {
	for _, l := range lives {
		g = gone{DeletedAt: l.DeletedAt}
		if last := l.last(); last != hash {
			g.Moved = last
		} else if l.DeletedAt.IsZero() {
			return g, true
		}
	}
	return g, false
}

// placeEntries sets the hash that the link of each entry had at its time. The entries are those of
// a page, the latest first.
func placeEntries(entries []entry, lives []life) {
	byID := make(map[string]life, len(lives))
	for _, l := range lives {
		byID[l.ID] = l
	}
	before := make(map[string]string) // the hash that a link had before the entries so far
	for i := range entries {
		e := &entries[i]
		e.Hash = before[e.Link]
		for _, change := range e.Changes {
			if change.Field == "hash" {
				e.Hash, before[e.Link] = textIn(change.After), textIn(change.Before)
			}
		}
		if e.Hash == "" {
			e.Hash = byID[e.Link].at(e.Time)
		}
	}
}

// textIn returns a text in JSON, or "".
func textIn(raw json.RawMessage) (text string) {
	if err := json.Unmarshal(raw, &text); err != nil {
		return ""
	}
	return text
}

// maxFormer bounds the other hashes that a page looks at.
const maxFormer = 5

// elsewhere returns the other hash of a link that has or had a hash, by which it could be followed
// at a time, or "". What is refused on the way is not worth a refusal: that of the time is told.
func elsewhere(p *page.Page, hash, at string) string {
	if !p.Can("history:read") || p.Session.Tags != nil {
		return ""
	}
	var answer historyAnswer
	path := "/v3/urls/" + url.PathEscape(hash) + "/history"
	if err := p.Get(path, url.Values{"limit": {"1"}}, &answer); err != nil {
		return ""
	}
	looked := 0
	for _, l := range slices.Backward(answer.History.Links) {
		for _, t := range slices.Backward(l.Tenures) {
			if t.Hash == hash {
				continue
			}
			if looked++; looked > maxFormer {
				return ""
			}
			var found linksAnswer
			err := p.Get("/v3/urls/"+url.PathEscape(t.Hash), url.Values{"at": {at}}, &found)
			// Another link may have had the hash then.
			if err == nil && len(found.URLs) > 0 &&
				found.URLs[0].CreatedAt.Equal(l.CreatedAt.Truncate(time.Second)) {
				return t.Hash
			}
		}
	}
	return ""
}
