package usage

import (
	"errors"
	"fmt"
	"strings"
)

// userError is an error that the user can mend by calling otherwise or by changing the machine.
type userError struct{ error }

// Unwrap returns the error without the mark.
func (w userError) Unwrap() error { return w.error }

// Errorf returns an error that the user can mend.
func Errorf(format string, args ...any) error { return userError{fmt.Errorf(format, args...)} }

// Wrap marks an error as one that the user can mend.
func Wrap(err error) error { return userError{err} }

// Is reports whether the user can mend what is wrong.
func Is(err error) bool {
	_, is := errors.AsType[userError](err)
	return is
}

// Env is the variable of the environment that stands for a flag.
func Env(flag string) string {
	return "LINKLEDGER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
