// Package images_test checks the Compose files and what the image has.
package images_test

import (
	"os"
	"testing"

	"linkledger/e2e/e2etest"
)

func TestMain(m *testing.M) {
	os.Exit(e2etest.Run(m))
}
