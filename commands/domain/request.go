package domain

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/tagexpr"
)

// Request identifies a command and its caller.
type Request struct {
	Account string // id of the acting account; empty for an operator
	Key     string // id of the API key; empty: a person or an operator calls
	User    string // id of the person who calls, or who signed in for the call; empty: none
	Via     string // source of the call, see events.Metadata
	Address string // keyed hash of the caller's address
	ID      string // request id
	Batch   string // id shared by all events of one call
	Plan    Plan   // of the account
	// ShortHost is the host that the caller requested; links must not lead to it. It is set only if
	// no base URL is configured. See destination.Rules.
	ShortHost string

	// Bound is a tag expression. The caller sees only the links of the account that match it; nil:
	// all.
	Bound *tagexpr.Expr

	// Operator is true if an operator acts for the account, or for all accounts if Account is
	// empty.
	Operator bool

	// Undoes says what the command undoes, if it is an undo.
	Undoes Undone

	// Command identifies the command: event ids derive from it, so a command with the same id runs
	// once.
	Command uuid.UUID
	// Repeated is true if the caller chose Command, so the command may have run before.
	Repeated bool
}

// Item returns the request of one item of a batch.
func (r Request) Item(index int) Request {
	//nolint:gosec // distinct bytes are all that counts
	r.Command = uuid.NewSHA1(r.Command, []byte{byte(index >> 8), byte(index)})
	return r
}

// Metadata returns the data of the request that is stored with its events.
func (r Request) Metadata() events.Metadata {
	if r.Operator {
		r.Account = ""
	}
	return events.Metadata{
		CorrelationID: r.ID,
		CausationID:   r.Command.String(),
		Account:       r.Account,
		Key:           r.Key,
		User:          r.User,
		Via:           r.Via,
		Address:       r.Address,
		RequestID:     r.ID,
		BatchID:       r.Batch,
		Undoes:        r.Undoes.Batch,
		UndoesKey:     r.Undoes.Key,
		UndoesSince:   r.Undoes.Since,
	}
}

// Creating returns the request to create a link with a hash at a time. Its command id depends on
// the hash and the time. So if two repeats of a command run concurrently, their appends differ. The
// slower append fails, and the repeat that made it finds the link of the faster one.
func (r Request) Creating(hash string, at time.Time) Request {
	r.Command = uuid.NewSHA1(r.Command, fmt.Append(nil, hash, " ", at.UnixMicro()))
	return r
}

// Undone selects the events that an undo takes back: all events of a call, or all events of an API
// key since a time.
type Undone struct {
	Batch string
	Key   string
	Since time.Time // by the clock of the event store

	// If SkipChanged is true, the undo leaves fields as they are that other calls have changed
	// since, and takes back the rest. Otherwise such fields cause a refusal.
	SkipChanged bool
}

// Includes reports whether the undo takes back an event.
func (u Undone) Includes(m events.Metadata, recorded time.Time) bool {
	if u.Key != "" {
		return m.Key == u.Key && !recorded.Before(u.Since)
	}
	return u.Batch != "" && m.BatchID == u.Batch
}
