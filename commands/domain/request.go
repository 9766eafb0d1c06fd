package domain

import (
	"linkledger/events"

	"github.com/google/uuid"
)

// Request tells who asks for a command and by what it is known.
type Request struct {
	Account string // id of the acting account; empty for an operator
	Key     string // id of the API key
	Address string // keyed hash of the caller's address
	ID      string // request id
	Batch   string // id shared by all events of one call
	Plan    Plan   // of the account
	// ShortHost is one more of Rules.ShortHosts: where those are not known, the host by which the
	// caller reaches the service. Empty: none.
	ShortHost string

	// Operator says that an operator acts in the place of the account, or of all accounts where it
	// is empty.
	Operator bool

	// Command makes the command's events recognisable: a command with the same id is carried out
	// once.
	Command uuid.UUID
	// Repeated says that Command was chosen by the caller, so the command may have been carried out
	// before.
	Repeated bool
}

// Item is the request of one item of a batch.
func (r Request) Item(index int) Request {
	//nolint:gosec // distinct bytes are all that counts
	r.Command = uuid.NewSHA1(r.Command, []byte{byte(index >> 8), byte(index)})
	return r
}

// Metadata returns what is stored of the request beside its events.
func (r Request) Metadata() events.Metadata {
	if r.Operator {
		r.Account = ""
	}
	return events.Metadata{
		CorrelationID: r.ID,
		CausationID:   r.Command.String(),
		Account:       r.Account,
		Key:           r.Key,
		Address:       r.Address,
		RequestID:     r.ID,
		BatchID:       r.Batch,
	}
}

// Creating makes the creation under one hash another append than that under another hash: of two
// concurrent repeats of a command, which draw two hashes, one is refused and finds what the other
// made.
func (r Request) Creating(hash string) Request {
	r.Command = uuid.NewSHA1(r.Command, []byte(hash))
	return r
}
