package domain

import (
	"errors"
	"fmt"
)

// Kind is the reason of a refusal. Callers map it to their own error codes.
type Kind int

// The kinds of Error.
const (
	InvalidURL Kind = iota + 1 // the destination is not an absolute http or https URL
	// the destination is well formed but not allowed: its length, a short link, or a blocked host.
	URLNotAllowed
	HashUnavailable // the custom hash is malformed, reserved or taken
	InvalidHash     // the hash is malformed
	URLNotFound     // no such link in the account
	URLProtected    // the link is protected from deletion
	InvalidDate     // not a calendar date
	InvalidValue    // another field has a value out of range
	InvalidLabel    // the tag label is malformed, reserved or taken
	TagNotFound     // no such tag in the account
	InvalidUsername // the user name is malformed or taken
	AccountNotFound // no such account
	URLLimitReached // the account's plan allows no more links
	URLChanged      // the link was changed after the changes to undo
	AccountGone     // the account was erased
	AccessDenied    // the caller's key may not do it
	KeyNotFound     // no such API key in the account
	MemberNotFound  // no such member of the account
	UserNotFound    // no such person
	KeyReused       // another call has the same idempotency key
	InvalidWebhook  // a parameter of a webhook is invalid
	WebhookNotFound // no such webhook in the account
)

// Error is a refusal by the rules: repeating the command will not help, changing it will.
type Error struct {
	Kind    Kind
	Details string // what is wrong and how to correct it
	// Fields are the fields that prevent an undo or a restoration, with the names of
	// audit.FieldChange. Only URLChanged and ErrHashGivenAway have fields.
	Fields []string
}

// Error implements error.
func (e *Error) Error() string { return e.Details }

// Refuse returns an Error whose details are formatted as fmt.Sprintf does.
func Refuse(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Details: fmt.Sprintf(format, args...)}
}

// ErrNoURL refuses a hash that no URL of the account has, or only a URL that the caller does not
// see.
func ErrNoURL(hash string) error {
	return Refuse(URLNotFound, "There is no URL with the hash %q", hash)
}

// KindOf returns the Kind of err, or 0 if err is not an Error.
func KindOf(err error) Kind {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Kind
	}
	return 0
}
