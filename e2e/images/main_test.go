// Package images_test checks the Compose files and what the image has.
package images_test

import (
	"errors"
	"os"
	"testing"

	"linkledger/e2e/e2etest"
)

func TestMain(m *testing.M) {
	for _, read := range []string{"../../Makefile", "../../docker", dockerFolder + "/postgres"} {
		// make and bash read these files. go test sees only what a test opens.
		file, err := os.Open(read)
		if err := errors.Join(err, file.Close()); err != nil {
			panic(err)
		}
	}
	os.Exit(e2etest.Run(m))
}
