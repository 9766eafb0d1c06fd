// Command missedtest fails if no test has rendered some state of a page, according to the records
// of branches in a folder. make test runs it after the tests of all packages except those in
// PROGRAM_PACKAGES of the Makefile.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"linkledger/httpapi/branchtest"
)

func main() {
	if _, err := exec.LookPath("chromium"); err != nil {
		return // without Chromium, the tests of page scripts were skipped
	}
	missed, err := branchtest.Missed(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(missed) > 0 {
		fmt.Fprintf(os.Stderr, "no test renders these states of pages:\n%s\n", strings.Join(missed, "\n"))
		os.Exit(1)
	}
}
