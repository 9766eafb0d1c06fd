package main

import (
	"errors"
	"fmt"
	"strings"
)

// wrong is an error that the user can mend by calling otherwise or by changing the machine.
type wrong struct{ error }

// Unwrap returns the error without the mark.
func (w wrong) Unwrap() error { return w.error }

// usage returns an error that the user can mend.
func usage(format string, args ...any) error { return wrong{fmt.Errorf(format, args...)} }

// usageError marks an error as one that the user can mend.
func usageError(err error) error { return wrong{err} }

// isUsage reports whether the user can mend what is wrong.
func isUsage(err error) bool {
	_, is := errors.AsType[wrong](err)
	return is
}

// envName is the variable of the environment that stands for a flag.
func envName(flag string) string {
	return "LINKLEDGER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
