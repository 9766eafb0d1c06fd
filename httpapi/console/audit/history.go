package audit

// This file reads the history of a link.

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/contract"
)

// Entry is an event of the history of a link.
type Entry struct {
	contract.HistoryEvent

	Hash string // that the link had at the time of the event
	// Undoes says in words which changes of the link are taken back if the call of the event is
	// undone. It is empty if the call cannot be undone, or if another entry of the same call has
	// these words.
	Undoes string
}

// Makes reports whether the event made the link, so that nothing was before it.
func (e Entry) Makes() bool { return strings.HasPrefix(e.Type, "url.created.") }

// History is a page of the events of a hash, the latest first.
type History struct {
	Entries []Entry
	Shown   url.Values // parameters for a proof of the events that are shown
	Pager   pager.Pager

	hash  string
	lives []contract.LinkLife // of the links that have or had the hash
}

// Read reads the part of the history of a hash that the page asks for. It returns an empty History
// if the session may not see it, or if the API finds none. to is the path of the page.
func Read(p *page.Page, hash, to string) (History, error) {
	if !mayRead(p) {
		return History{}, nil
	}
	query := p.Listed()
	query.Set("order_by", "created") // the newest first
	query.Set("limit", strconv.Itoa(pager.Size))
	var answer contract.HistoryAnswer
	err := p.Get("/v3/urls/"+url.PathEscape(hash)+"/history", query, &answer)
	if refused, ok := calls.AsRefusal(err); ok && refused.Status == http.StatusNotFound {
		return History{}, nil
	}
	if err != nil {
		return History{}, err
	}
	part := answer.Page
	h := History{Pager: p.Paged(to, nil, part), hash: hash, lives: answer.History.Links}
	// A call for a proof counts the events from the oldest one.
	first := part.TotalCount - int64(part.Offset+part.ResultsCount)
	h.Shown = url.Values{
		"limit":  {strconv.Itoa(max(1, part.ResultsCount))},
		"offset": {strconv.FormatInt(first, 10)},
	}
	for _, e := range answer.History.Events {
		// An event of the hash itself repeats what events of the link say, unless another account
		// has caused it.
		if !strings.HasPrefix(e.Type, "hash.") || e.Actor.Kind == "foreign" {
			h.Entries = append(h.Entries, Entry{HistoryEvent: e})
		}
	}
	nameUndos(h.Entries)
	placeEntries(h.Entries, h.lives)
	return h, nil
}

// Since returns when a flag of the link was set last. It returns zero if the flag is not set, or if
// the page's part of the history does not have that event.
func (h History) Since(flag string) time.Time {
	for _, e := range h.Entries {
		at := slices.IndexFunc(e.Changes, func(c contract.FieldChange) bool {
			return c.Field == flag
		})
		if at < 0 {
			continue
		}
		if string(e.Changes[at].After) == "true" {
			return e.Time
		}
		return time.Time{}
	}
	return time.Time{}
}
