package commands

import (
	"fmt"

	"linkledger/events/eventstore"
)

// Kind says what is wrong with a command, so that callers can answer with their own codes.
type Kind int

// The kinds of Error.
const (
	InvalidURL      Kind = iota + 1 // the destination is not an absolute http or https URL
	URLNotAllowed                   // the destination is well formed and refused: length, own domain
	HashUnavailable                 // the custom hash is malformed, reserved or taken
	InvalidHash                     // no hash can look like this
	URLNotFound                     // no such link in the account
	URLProtected                    // the link is protected from deletion
	InvalidDate                     // not a calendar date
	InvalidValue                    // another field has a value out of range
	InvalidLabel                    // the tag label is malformed, reserved or taken
	TagNotFound                     // no such tag in the account
	InvalidUsername                 // the user name is malformed or taken
	AccountNotFound                 // no such account
	URLLimitReached                 // the account's plan allows no more links
	URLChanged                      // the link was changed since what is to be undone
	AccountGone                     // the account was erased
	KeyReused                       // the name of the call is that of another one
)

// Error is a refusal by the rules: repeating the command will not help, changing it will.
type Error struct {
	Kind    Kind
	Details string // says in plain words what to mend
	// Fields are those of a record, as FieldChange names them, that are in the way; of URLChanged.
	Fields []string
}

// Error implements error.
func (e *Error) Error() string { return e.Details }

func refuse(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Details: fmt.Sprintf(format, args...)}
}

// ErrUnavailable means that the event store could not be reached in time. Whether anything was written is unknown;
// the same command may be repeated.
var ErrUnavailable = eventstore.ErrUnavailable

// ErrCut means that events of a stream cannot be read although they were written, so that what the command is about is not
// known. An operator has to look: audit verify names the stream.
var ErrCut = eventstore.ErrCut
