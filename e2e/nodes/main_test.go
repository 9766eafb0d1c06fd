// Package nodes_test kills and replaces several services of an installation, under load.
package nodes_test

import (
	"os"
	"testing"

	"linkledger/e2e/e2etest"
)

func TestMain(m *testing.M) {
	os.Exit(e2etest.Run(m))
}
