// Package proxies_test runs nodes behind proxies, while nodes come and go.
package proxies_test

import (
	"os"
	"testing"

	"linkledger/e2e/e2etest"
)

func TestMain(m *testing.M) {
	os.Exit(e2etest.Run(m))
}
