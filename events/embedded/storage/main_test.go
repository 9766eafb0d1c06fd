package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openBare opens a storage in memory.
func openBare(t testing.TB) *Store {
	t.Helper()
	return openOn(t, vfs.NewMem())
}

func openOn(t testing.TB, disk vfs.FS) *Store {
	t.Helper()
	store, err := Open(Config{Dir: "store", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
