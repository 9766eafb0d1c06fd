package contract

import (
	"encoding/json"
	"time"
)

// HistoryAnswer has a page of the events of a hash.
type HistoryAnswer struct {
	Envelope
	History History `json:"history"`
	Page    Page    `json:"page"` // of the events
}

// History is the events of a hash, and of those links of the account that ever had the hash.
type History struct {
	Hash      string         `json:"hash"`
	MoreLinks int            `json:"more_links"` // earlier links that are left out
	Events    []HistoryEvent `json:"events"`
	Links     []LinkLife     `json:"links"` // in the order in which they first got the hash
}

// LinkLife is the outline of the history of one link.
type LinkLife struct {
	ID        string    `json:"id"`
	Account   string    `json:"account"`
	Hashes    []Tenure  `json:"hashes"` // in the order of time
	CreatedAt time.Time `json:"created_at"`
	DeletedAt time.Time `json:"deleted_at,omitzero"` // zero: the link is not deleted
	// DailyClicks are the clicks since the last reset; nil: the caller lacks stats:read.
	DailyClicks map[string]Day `json:"daily_clicks,omitzero"`
}

// Tenure is a time for which a link had a hash.
type Tenure struct {
	Hash  string    `json:"hash"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"` // zero: the link still has the hash
}

// HistoryEvent is an event with its actor and its changes.
type HistoryEvent struct {
	Position uint64    `json:"position"` // commit position in the log
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"` // in the stream, from 0
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
	Link     string    `json:"link"` // id of the link that the event is about
	Actor    Actor     `json:"actor"`
	Request  string    `json:"request,omitempty"` // id
	// Batch is shared by all events of one call; empty: none.
	Batch   string        `json:"batch,omitempty"`
	Changes []FieldChange `json:"changes"`
}

// Actor is who caused an event. If another account caused the event, only Kind is set.
type Actor struct {
	Kind     string `json:"kind"`               // account, operator or foreign
	Account  string `json:"account,omitempty"`  // id
	Key      string `json:"key,omitempty"`      // id
	KeyName  string `json:"key_name,omitempty"` // present name, or the last one of a revoked key
	User     string `json:"user,omitempty"`     // id of the person
	UserName string `json:"user_name,omitempty"`
	Via      string `json:"via,omitempty"`     // api, cli or console
	Address  string `json:"address,omitempty"` // keyed hash
}

// FieldChange is one field of a link that an event changed.
type FieldChange struct {
	Field string `json:"field"`
	// Before and After are a text, a boolean, a number, a list of texts, or null for no value.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	Erased bool            `json:"erased,omitempty"` // a note that was erased with its account
}
