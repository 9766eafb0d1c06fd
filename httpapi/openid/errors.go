package openid

import (
	"errors"
	"fmt"
	"regexp"
)

// The errors of Begin and Finish. The errors that they wrap are for the log. They contain no
// authorization code, token, secret or verifier.
var (
	// ErrUnavailable means that the issuer cannot be reached or fails. The same sign-in may succeed
	// later.
	ErrUnavailable = errors.New("the issuer is not available")
	// ErrMisconfigured means that the issuer is not the one of the configuration, sends metadata
	// that cannot be used, or refuses the client, such as for a wrong secret. No sign-in succeeds
	// until an operator mends it.
	ErrMisconfigured = errors.New("the issuer and the configuration do not fit")
	// ErrRefused means that the issuer refuses the sign-in, such as when the person declines it. It
	// comes as a RefusedError.
	ErrRefused = errors.New("the issuer refuses the sign-in")
	// ErrInvalid means that the cookie, the callback, the token or its claims are not valid. The
	// person has to sign in again.
	ErrInvalid = errors.New("the sign-in is not valid")
)

// RefusedError is the error that the issuer answers a sign-in with. It is an ErrRefused.
type RefusedError struct {
	// Code is the code of the error, such as "access_denied", or "unknown" if the issuer sends no
	// valid code.
	Code string
}

// Error returns the error with its code.
func (e *RefusedError) Error() string { return ErrRefused.Error() + ": " + e.Code }

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// FailedError is an error of the issuer that the browser brings back. It is an ErrUnavailable. Any
// browser can bring one, so it is no evidence that the issuer has failed.
type FailedError struct {
	Code string // "server_error" or "temporarily_unavailable"
}

// Error returns the error with its code.
func (e *FailedError) Error() string { return ErrUnavailable.Error() + ": it answers " + e.Code }

// Unwrap returns ErrUnavailable.
func (e *FailedError) Unwrap() error { return ErrUnavailable }

// errorCodes matches valid error codes.
var errorCodes = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// cleanCode returns the code of an error of the issuer, or "unknown" if the code is not valid.
func cleanCode(code string) string {
	if !errorCodes.MatchString(code) {
		return "unknown"
	}
	return code
}

// failed returns an error that wraps two errors: as, which is one of the errors above, and err.
// what names the failed step.
func failed(as error, what string, err error) error {
	return fmt.Errorf("%w: %s: %w", as, what, clippedError{err})
}

// invalid returns an ErrInvalid that wraps err.
func invalid(err error) error { return fmt.Errorf("%w: %w", ErrInvalid, err) }

// clippedError shortens the text of an error, because many errors contain text from the issuer.
type clippedError struct{ error }

// Error returns the beginning of the text.
func (e clippedError) Error() string { return fmt.Sprintf("%.300s", e.error.Error()) }

// Unwrap returns the whole error.
func (e clippedError) Unwrap() error { return e.error }
