package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// History has all events of a hash and of the links that ever had it, including the time when these
// links had other hashes. Its JSON, including the JSON of its parts, is the output of the API and
// of the command line.
type History struct {
	Hash string `json:"hash"`
	// Links are the links that had the hash, in the order of their first claims.
	Links []LinkLife `json:"links"`
	// MoreLinks is how many earlier links Links leaves out because of HistoryQuery.MaxLinks.
	MoreLinks int `json:"more_links"`
	// Entries are the events in the order of HistoryQuery.NewestFirst. An event that changed
	// several of the links has an entry for each.
	Entries []Entry `json:"events"`
	// Total counts all entries, including the ones that HistoryQuery.Limit left out.
	Total int `json:"-"`
}

// LinkLife is the outline of one link's history.
type LinkLife struct {
	ID        string    `json:"id"`
	Account   string    `json:"account"`
	Tenures   []Tenure  `json:"hashes"` // in the order of time
	CreatedAt time.Time `json:"created_at"`
	DeletedAt time.Time `json:"deleted_at,omitzero"` // zero: it lives
}

// entryKey identifies an entry: the event at a position, and the link that it is about.
type entryKey struct {
	position eventstore.Position
	link     string // id
}

func (e Entry) key() entryKey { return entryKey{e.Position, e.Link} }

// Entry is an event, its actor and its changes.
type Entry struct {
	Position eventstore.Position `json:"-"`
	Commit   uint64              `json:"position"` // of Position
	Stream   string              `json:"stream"`
	Revision eventstore.Revision `json:"revision"`
	ID       uuid.UUID           `json:"id"`
	Type     string              `json:"type"`
	// Time is when the event store recorded the event; for a click, when it was answered.
	Time    time.Time `json:"time"`
	Link    string    `json:"link"` // id of the link it is about
	Actor   Actor     `json:"actor"`
	Request string    `json:"request,omitempty"` // id; empty: none
	// Batch is shared by all events of one API call; empty: none.
	Batch   string        `json:"batch,omitempty"`
	Changes []FieldChange `json:"changes"`
}

// Actor is who caused an event.
type Actor struct {
	Kind    ActorKind `json:"kind"`
	Account string    `json:"account,omitempty"`  // its id
	Key     string    `json:"key,omitempty"`      // id of the API key, never the key
	KeyName string    `json:"key_name,omitempty"` // the present name of the key, or its last one
	// User is the id of the person who acted, or who signed in for the call. UserName is the name
	// of the person, or the mail address if the person has no name, as the issuer gave it last.
	User     string `json:"user,omitempty"`
	UserName string `json:"user_name,omitempty"`
	// Via is the source of the change: api, cli or console.
	Via string `json:"via,omitempty"`
	// Address is a keyed hash of the caller's address, never the address
	Address string `json:"address,omitempty"`
	Visitor string `json:"visitor,omitempty"` // keyed hash of the visitor's address and user agent
}

// ActorKind is the kind of an Actor.
type ActorKind string

// The kinds of Actor.
const (
	ByAccount  ActorKind = "account"
	ByOperator ActorKind = "operator" // of the service
	// ByForeign is an account other than the one that asks. The Actor's other fields are empty.
	ByForeign ActorKind = "foreign"
	ByVisitor ActorKind = "visitor" // who followed the link
)

func actorOf(m events.Metadata) Actor {
	actor := Actor{
		Kind: ByAccount, Account: m.Account, Key: m.Key, Address: m.Address, User: m.User,
		Via: m.Way(),
	}
	if m.Account == "" {
		actor.Kind = ByOperator
	}
	return actor
}

func byPosition(a, b eventstore.Position) int {
	switch {
	case a.After(b):
		return 1
	case b.After(a):
		return -1
	}
	return 0
}

// entryOf returns the entry of an event. reader is the id of the account that asks; empty: an
// operator. An account does not see the actors of other accounts.
func entryOf(s streams.RecordedEvent, link, reader string, changes []FieldChange) (Entry, error) {
	var metadata events.Metadata
	if len(s.Metadata) > 0 {
		if err := json.Unmarshal(s.Metadata, &metadata); err != nil {
			return Entry{}, s.Undecoded(fmt.Errorf("metadata: %w", err))
		}
	}
	e := Entry{
		Position: s.Position, Commit: s.Position.Commit, Stream: s.Stream, Revision: s.Revision,
		ID: s.ID, Type: s.Type,
		Time: s.Time.UTC(), Link: link, Actor: actorOf(metadata), Request: metadata.RequestID,
		Batch:   metadata.BatchID,
		Changes: changes,
	}
	if reader != "" && metadata.Account != "" && metadata.Account != reader {
		e.Actor, e.Request, e.Batch = Actor{Kind: ByForeign}, "", ""
	}
	if e.Changes == nil {
		e.Changes = []FieldChange{}
	}
	return e, nil
}

// claimEntries returns the entries of the claims and releases of a hash.
func claimEntries(claims []streams.RecordedEvent, reader string) ([]Entry, error) {
	var entries []Entry
	for _, s := range claims {
		change := FieldChange{Field: "claimed_by"}
		var link, account string
		switch e := s.Body.(type) {
		case events.HashClaimed:
			link, account, change.After = e.URLID, e.Account, e.URLID
		case events.HashReleased:
			link, account, change.Before = e.URLID, e.Account, e.URLID
		default:
			continue // an event of the link that lives in this stream
		}
		if reader != "" && account != reader {
			continue
		}
		entry, err := entryOf(s, link, reader, []FieldChange{change})
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (l *LinkLife) apply(e events.Event) {
	switch e := e.(type) {
	case events.URLCreated:
		l.ID, l.Account, l.CreatedAt = e.URLID, e.Account, e.At
		l.Tenures = []Tenure{{Hash: e.Hash, From: e.At}}
	case events.URLRenamed:
		l.endTenure(e.At)
		l.Tenures = append(l.Tenures, Tenure{Hash: e.To, From: e.At})
	case events.URLDeleted:
		l.endTenure(e.At)
		l.DeletedAt = e.At
	case events.URLRestored:
		l.Tenures = append(l.Tenures, Tenure{Hash: e.Hash, From: e.At})
		l.DeletedAt = time.Time{}
	}
}

func (l *LinkLife) endTenure(at time.Time) {
	if last := len(l.Tenures) - 1; last >= 0 {
		l.Tenures[last].Until = at
	}
}
