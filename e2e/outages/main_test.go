// Package outages_test takes away what a service depends on, under load.
package outages_test

import (
	"os"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/faultydisk"
)

func TestMain(m *testing.M) {
	faultydisk.Serve()
	os.Exit(e2etest.Run(m))
}
