// Package upgrades_test starts the program on what other versions of it and of PostgreSQL have left.
package upgrades_test

import (
	"os"
	"testing"

	"linkledger/e2e/e2etest"
)

func TestMain(m *testing.M) {
	os.Exit(e2etest.Run(m))
}
