package storage

import (
	"fmt"
	"testing"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
	"linkledger/internal/soak"

	"github.com/cockroachdb/pebble/v2"
)

func TestBlocksStayInMemory(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	s := openBare(t)
	small := []record.Proposed{{Type: "test.happened.v1"}}
	if out := s.writer.Submit(
		t.Context(), 0, func(l *ledger.Ledger) ledger.Outcome { return l.Append("s0", revision.NoStream, small) },
	); out.Err != nil {
		t.Fatal(out.Err)
	}
	for i := range 2*disk.MemTableBytes>>20 + 2 { // memtables start small and double their size
		if err := s.db.Set(fmt.Append(nil, "\xff", i), make([]byte, 1<<20), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if tables := s.db.Metrics().MemTable; tables.Size+tables.ZombieSize < 2*disk.MemTableBytes {
		t.Fatalf("memtables take %d bytes, so the test proves nothing", tables.Size+tables.ZombieSize)
	}
	hits := s.db.Metrics().BlockCache.Hits
	for range 2 {
		if _, err := record.LoadState(s.db, "s0"); err != nil {
			t.Fatal(err)
		}
	}
	if again := s.db.Metrics().BlockCache; again.Hits == hits {
		t.Errorf("no block is read from memory again; the cache holds %d blocks", again.Count)
	}
}
