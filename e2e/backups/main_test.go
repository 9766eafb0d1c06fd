// Package backups_test backs up, restores, copies and erases real installations.
package backups_test

import (
	"os"
	"testing"

	"linkledger/e2e/e2etest"
)

func TestMain(m *testing.M) {
	os.Exit(e2etest.Run(m))
}
