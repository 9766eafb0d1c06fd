package usage

import (
	"errors"
	"fmt"
	"strings"
)

// userError is an error that the user can correct.
type userError struct{ error }

// Unwrap returns the error without the mark.
func (w userError) Unwrap() error { return w.error }

// Errorf returns an error that the user can correct.
func Errorf(format string, args ...any) error { return userError{fmt.Errorf(format, args...)} }

// Wrap marks an error as one that the user can correct.
func Wrap(err error) error { return userError{err} }

// Is reports whether the user can correct an error.
func Is(err error) bool {
	_, is := errors.AsType[userError](err)
	return is
}

// Env returns the environment variable of a flag.
func Env(flag string) string {
	return "LINKLEDGER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
