package proof

import (
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// TestTree checks that the root equals that of the reference implementation.
func TestTree(t *testing.T) {
	t.Parallel()
	var (
		grown  Tree
		stored []tlog.Hash
	)
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			hashes[i] = stored[index]
		}
		return hashes, nil
	})
	for n := range int64(200) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil || grown.Root() != want {
			t.Fatalf("%d leaves: %s, want %s, %v", n, grown.Root(), want, err)
		}
		leaf := fmt.Appendf(nil, "leaf %d", n)
		hashes, err := tlog.StoredHashes(n, leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
		grown.Add(tlog.RecordHash(leaf))
	}
}
