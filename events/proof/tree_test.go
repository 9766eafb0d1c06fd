package proof

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
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

// TestLeaf checks that the leaf of an event does not change, because auditors compute it from an
// export and signed heads depend on it.
func TestLeaf(t *testing.T) {
	t.Parallel()
	r := eventstore.Recorded{
		Position: eventstore.Position{Commit: 1522, Prepare: 1521}, Stream: "hash-pg", Revision: 7,
		ID:   uuid.UUID{0: 0x7c, 15: 0x01},
		Type: "hash.claimed.v1", Time: time.Date(2026, 11, 21, 11, 20, 30, 123456700, time.FixedZone("", 3600)),
		Metadata: []byte("{\n}"), Data: []byte(`{"hash": "pg<ü>"}`),
	}
	const line = `{"position":{"commit":1522,"prepare":1521},"stream":"hash-pg","revision":7,"id":"7c000000-0000-0000-0000-000000000001",` +
		`"type":"hash.claimed.v1","time":"2026-11-21T10:20:30.1234567Z","metadata_base64":"ewp9","data":{"hash": "pg<ü>"}}`
	if got := string(AppendLine(nil, r)); got != line {
		t.Errorf("line %s, want %s", got, line)
	}
	const hash = "NgxIpOjJv1WtX3lSKC6lClYDQgnQMVd0vppjSkUAt5w=" // computed by another program
	var h Hasher
	for range 2 { // the second time with the same buffer
		if got := h.Leaf(r); got.String() != hash {
			t.Errorf("leaf %s, want %s", got, hash)
		}
	}
}
