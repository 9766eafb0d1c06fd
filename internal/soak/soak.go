// Package soak gives tests a length: short in make test, long in make soak. Only tests import it.
package soak

import (
	"flag"
	"os"
	"strconv"

	_ "pgregory.net/rapid" // registers the flag that Checks sets
)

// Running reports whether tests run at length, which the environment variable LINKLEDGER_SOAK asks
// for.
func Running() bool {
	return os.Getenv("LINKLEDGER_SOAK") != "" //nolint:forbidigo // packages share no test flags
}

// N returns few in make test, and many in make soak.
func N(few, many int) int {
	if Running() {
		return many
	}
	return few
}

// Checks makes rapid check each property of a package few times in make test, and many times in
// make soak. TestMain calls it. The flag -rapid.checks overrides it.
func Checks(few, many int) {
	if err := flag.Set("rapid.checks", strconv.Itoa(N(few, many))); err != nil {
		panic(err)
	}
}
