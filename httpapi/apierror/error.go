package apierror

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"linkledger/commands/access"
	"linkledger/commands/domain"
)

// maxDetails bounds details, because they may quote what the client sent.
const maxDetails = 300 // code points

// Error refuses a call or an item of a batch before a command or a query runs.
type Error struct {
	Code    Code
	Details string // what the client has to correct
	Status  int    // 0: Code.Status()
	// RetryAfter is how long the client has to wait before it repeats the call; 0: 1 s.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string { return e.Code.Message() + ": " + e.Details }

// WrongInput returns an Error with CodeWrongInput. format and args say what the client has to
// correct.
func WrongInput(format string, args ...any) error {
	return &Error{Code: CodeWrongInput, Details: fmt.Sprintf(format, args...)}
}

// Need refuses a call whose key lacks one of the needed scopes.
func Need(scopes, needed access.Scopes) error {
	if scopes.Have(needed) {
		return nil
	}
	return &Error{
		Code: CodeAccessDenied,
		Details: "The caller lacks the scope " + strings.Join(
			(needed&^scopes).Names(), ", ",
		),
	}
}

// ErrBound refuses a call that concerns more than the links that its key is bound to.
var ErrBound = &Error{
	Code: CodeAccessDenied, Details: "A key that is bound to tags may not make this call",
}

// RefusedAs reports whether a command refused with the given kind.
func RefusedAs(err error, kind domain.Kind) bool {
	refused, ok := errors.AsType[*domain.Error](err)
	return ok && refused.Kind == kind
}

// Count returns a number with its noun, in the plural unless n is 1.
func Count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatInt(n, 10) + " " + thing
}

func clip(details string) string { return Clip(details, maxDetails) }

// Clip returns the text, cut after limit code points. The end of a cut text is marked by an
// ellipsis.
func Clip(text string, limit int) string {
	n := 0
	for i := range text {
		if n == limit {
			return strings.ToValidUTF8(text[:i], "") + "…"
		}
		n++
	}
	return text
}
