package storage

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// BenchmarkReopen opens a store that holds two million events.
func BenchmarkReopen(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Config{Dir: dir, NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 300)
	for i := range 4000 {
		list := make([]record.Proposed, 500)
		for j := range list {
			list[j] = record.Proposed{ID: uuid.New(), Type: "url.created.v1", JSON: true, Data: data}
		}
		s.writer.Submit(b.Context(), 0, func(l *ledger.Ledger) ledger.Outcome {
			return l.Append(fmt.Sprint("url-", i), revision.NoStream, list)
		})
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start := time.Now()
		s, err := Open(Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/open")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	cfg := Config{Dir: "store", FS: disk}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	first := embeddedtest.Append(s.writer, "s", revision.NoStream, "a", "b")
	embeddedtest.Remove(s.writer, "t", revision.Any, (*ledger.Ledger).Tombstone)
	before := s.Stat()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	after := s.Stat()
	before.DiskBytes, after.DiskBytes = 0, 0
	if before != after {
		t.Fatalf("stat %+v, want %+v", after, before)
	}
	if again := embeddedtest.Append(s.writer, "s", revision.Any, "a", "b"); again != first {
		t.Fatalf("the same events again: %+v, want %+v", again, first)
	}
	if out := embeddedtest.Append(s.writer, "s", 1, "c"); out.Err != nil || out.Last != 2 ||
		out.Position <= before.Head {
		t.Fatalf("next event: %+v after head %d", out, before.Head)
	}
	var deleted *revision.StreamDeletedError
	if out := embeddedtest.Append(s.writer, "t", revision.Any, "x"); !errors.As(out.Err, &deleted) {
		t.Fatalf("tombstoned stream: %+v", out)
	}
}

func TestCorruptRecordIsReported(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	out := embeddedtest.Append(s.writer, "s", revision.Any, "a")
	value, closer, err := s.db.Get(record.EventKey(out.Position))
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), value...)
	closer.Close()
	for i := range damaged {
		damaged[i] ^= 1
		if _, err := record.Decode(out.Position, damaged); !errors.Is(err, record.ErrCorrupt) ||
			!strings.Contains(err.Error(), strconv.FormatUint(out.Position, 10)) {
			t.Fatalf("byte %d: %v, want the position of a corrupt record", i, err)
		}
		if _, err := record.Decode(out.Position, damaged[:i]); !errors.Is(err, record.ErrCorrupt) {
			t.Fatalf("cut at %d: %v", i, err)
		}
		damaged[i] ^= 1
	}
	if _, err := record.Decode(out.Position, damaged); err != nil {
		t.Fatal(err)
	}
}
