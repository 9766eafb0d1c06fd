// Package soak gives tests a length: short in make test, and long in make soak. It leaves the
// longest tests out of make short. Only tests import it.
package soak

import (
	"flag"
	"os"
	"strconv"
	"testing"

	_ "pgregory.net/rapid" // registers the flag that Checks sets
)

// NotShort leaves t, a long test, out of make short.
func NotShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes too long for -short")
	}
}

// N returns few in make test, and many in make soak, which sets the environment variable
// TEST_SOAK.
func N(few, many int) int {
	if os.Getenv("TEST_SOAK") == "" { //nolint:forbidigo // packages share no test flags
		return few
	}
	return many
}

// Checks makes rapid check each property of a package few times in make test, and many times in
// make soak. TestMain calls it. The flag -rapid.checks overrides it.
func Checks(few, many int) {
	if err := flag.Set("rapid.checks", strconv.Itoa(N(few, many))); err != nil {
		panic(err)
	}
}
