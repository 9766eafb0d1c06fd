// Package programtest gives tests the real program. Only tests import it.
package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const mainPackage = "linkledger/cmd/linkledger"

// Path returns the path of the program. make test names the program that it has built in the
// environment variable TEST_PROGRAM. Without it, Path builds the program in a folder.
//
// Path opens the program of make test, because go test then runs the tests again after the program
// has changed.
func Path(folder string) (string, error) {
	path := os.Getenv("TEST_PROGRAM")
	if path == "" {
		path = filepath.Join(folder, "linkledger")
		return path, Build(path)
	}
	program, err := os.Open(path) //nolint:gosec // G703: make test names it
	if err != nil {
		return "", err
	}
	return path, program.Close()
}

// Build builds the program with the settings of make build, so that both share Go's cache, and with
// further flags of go build.
func Build(path string, flags ...string) error {
	arguments := append([]string{"build", "-trimpath", "-o", path}, flags...)
	//nolint:gosec // G204: tests choose the flags
	command := exec.Command("go", append(arguments, mainPackage)...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
