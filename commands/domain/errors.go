package domain

import (
	"errors"
	"fmt"
)

// Kind says what is wrong with a command, so that callers can answer with their own codes.
type Kind int

// The kinds of Error.
const (
	InvalidURL Kind = iota + 1 // the destination is not an absolute http or https URL
	// the destination is well formed and refused: length, own domain.
	URLNotAllowed
	HashUnavailable // the custom hash is malformed, reserved or taken
	InvalidHash     // no hash can look like this
	URLNotFound     // no such link in the account
	URLProtected    // the link is protected from deletion
	InvalidDate     // not a calendar date
	InvalidValue    // another field has a value out of range
	InvalidLabel    // the tag label is malformed, reserved or taken
	TagNotFound     // no such tag in the account
	InvalidUsername // the user name is malformed or taken
	AccountNotFound // no such account
	URLLimitReached // the account's plan allows no more links
	URLChanged      // the link was changed since what is to be undone
	AccountGone     // the account was erased
	KeyReused       // the name of the call is that of another one
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

// Refuse returns an Error whose details are formatted as fmt.Sprintf does.
func Refuse(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Details: fmt.Sprintf(format, args...)}
}

// KindOf returns what is wrong with a command, or 0 if err is not an Error.
func KindOf(err error) Kind {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Kind
	}
	return 0
}
