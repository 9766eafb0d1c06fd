package postgrestest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// unpacked are the folders into which .ci/otherpostgres unpacks PostgreSQL: one below the folder of
// the repository, and one for root, which the user that runs the server can enter.
var unpacked = []string{"../../../.tools/otherpostgres", "/usr/local/lib/linkledger-otherpostgres"}

// OtherBin returns the folder of a PostgreSQL of another major version than the one that the tests
// use.
func OtherBin(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL: run without -short")
	}
	if bin := os.Getenv("TEST_OTHER_POSTGRES_BIN"); bin != "" {
		return bin
	}
	_, file, _, _ := runtime.Caller(0)
	for _, root := range unpacked {
		if !filepath.IsAbs(root) {
			root = filepath.Join(filepath.Dir(file), root)
		}
		found, err := filepath.Glob(filepath.Join(root, "usr/lib/postgresql/*/bin"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return found[0]
		}
	}
	t.Fatal("there is no PostgreSQL of another version: run .ci/otherpostgres, or make test")
	return ""
}
