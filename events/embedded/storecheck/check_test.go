package storecheck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storage"
	"linkledger/events/embedded/storecheck"
)

// openFilled returns the database of a store with every kind of stream.
func openFilled(t *testing.T) *disk.DB {
	t.Helper()
	fsys := vfs.NewMem()
	s, err := storage.Open(storage.Config{Dir: "store", FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	embeddedtest.Fill(t, s.Writer())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := open(t, "store", fsys)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func open(t *testing.T, dir string, fsys vfs.FS) *disk.DB {
	t.Helper()
	db, err := disk.Open(dir, fsys, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestRun checks that a sound store has no problem, and what is counted.
func TestRun(t *testing.T) {
	t.Parallel()
	db := openFilled(t)
	counters, err := record.LoadCounters(db)
	if err != nil {
		t.Fatal(err)
	}
	found, err := storecheck.Run(t.Context(), db)
	if err != nil || found.Problems != 0 || found.Events != counters.Events || found.Streams != counters.Streams+1 { // one has only a tombstone
		t.Fatalf("%+v, %v; want %+v", found, err, counters)
	}
	if found.Types["test.happened.v1"] != 214 || time.Since(found.Last) > time.Hour {
		t.Errorf("types %v, the last event at %s", found.Types, found.Last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := embeddedtest.NewLog(t, vfs.NewMem())
	many.Group(func() {
		for range 2048 {
			many.Append("s", revision.Any, []record.Proposed{{ID: uuid.New(), Type: "test.happened.v1"}})
		}
	})
	if _, err := storecheck.Run(ctx, many.DB); !errors.Is(err, context.Canceled) {
		t.Errorf("a check without time: %v", err)
	}
}

// TestCheckFinds checks that Check finds each kind of damage.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	set := func(key, value []byte) func(*pebble.Batch) error {
		return func(b *pebble.Batch) error { return b.Set(key, value, nil) }
	}
	remove := func(key []byte) func(*pebble.Batch) error {
		return func(b *pebble.Batch) error { return b.Delete(key, nil) }
	}
	for name, damage := range map[string]func(db *disk.DB, rec *record.Event) (change func(*pebble.Batch) error, stream string){
		"a record with a wrong checksum": func(_ *disk.DB, rec *record.Event) (func(*pebble.Batch) error, string) {
			value := rec.Encode()
			value[20] ^= 1
			return set(record.EventKey(rec.Position), value), rec.Stream
		},
		"a missing record": func(_ *disk.DB, rec *record.Event) (func(*pebble.Batch) error, string) {
			return remove(record.EventKey(rec.Position)), rec.Stream
		},
		"a missing entry of the index": func(_ *disk.DB, rec *record.Event) (func(*pebble.Batch) error, string) {
			return remove(record.IndexKey(rec.Stream, rec.Number)), rec.Stream
		},
		"an entry that leads elsewhere": func(_ *disk.DB, rec *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.IndexKey(rec.Stream, rec.Number), record.EventKey(record.FirstPosition)[1:]), rec.Stream
		},
		"an entry of no event": func(*disk.DB, *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.IndexKey("ghost", 0), record.EventKey(1 << 40)[1:]), "ghost"
		},
		"a malformed entry": func(*disk.DB, *record.Event) (func(*pebble.Batch) error, string) {
			return set([]byte{record.FamilyIndex, 200}, nil), "$$only-metadata"
		},
		"a missing state": func(_ *disk.DB, rec *record.Event) (func(*pebble.Batch) error, string) {
			return remove(record.StateKey(rec.Stream)), rec.Stream
		},
		"a state of no stream": func(*disk.DB, *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.StateKey("ghost"), (&record.StreamState{Last: 3}).Encode()), ""
		},
		"a malformed state": func(_ *disk.DB, rec *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.StateKey(rec.Stream), []byte("?")), rec.Stream
		},
		"a state that forgot its metadata": func(db *disk.DB, _ *record.Event) (func(*pebble.Batch) error, string) {
			st, err := record.LoadState(db, "url-2")
			if err != nil {
				return nil, err.Error()
			}
			st.Limits = record.Limits{}
			return set(record.StateKey("url-2"), st.Encode()), "url-2"
		},
		"wrong counters": func(db *disk.DB, _ *record.Event) (func(*pebble.Batch) error, string) {
			c, err := record.LoadCounters(db)
			if err != nil {
				return nil, err.Error()
			}
			c.Streams++
			return set(record.CountersKey, c.Encode()), ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openFilled(t)
			rec, err := record.LoadNumber(db, "url-9", 4)
			if err != nil {
				t.Fatal(err)
			}
			change, stream := damage(db, rec)
			batch := db.NewBatch()
			if err := errors.Join(change(batch), db.Apply(batch, pebble.Sync)); err != nil {
				t.Fatal(err)
			}
			checked, err := storecheck.Run(t.Context(), db)
			if err != nil || checked.Problems == 0 {
				t.Fatalf("%+v, %v; want a problem", checked, err)
			}
			for _, p := range checked.First {
				if p.Stream == stream {
					return
				}
			}
			t.Fatalf("no problem names stream %q: %+v", stream, checked.First)
		})
	}
}

// TestDamagedFile flips a bit of a file, as a failing disk would. Pebble then refuses a whole
// block. Check reports each event in the block, and a read reports the first one.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "events")
	s, err := storage.Open(storage.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	const written = 2000
	for i := range written {
		embeddedtest.Append(
			s.Writer(), fmt.Sprintf("url-%d", i), revision.NoStream,
			fmt.Sprintf("event %d %s", i, strings.Repeat("x", 300)),
		)
	}
	all := s.Stat().Events
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := open(t, dir, vfs.Default)
	if err := errors.Join(db.Flush(), db.Compact(t.Context(), []byte{0}, []byte{9}, false), db.Close()); err != nil {
		t.Fatal(err)
	}
	damageTable(t, dir)

	f, err := storage.OpenFolder(storage.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := f.Check(t.Context())
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if checked.Problems == 0 || checked.Events+checked.Problems != all || checked.First[0].Stream == "" {
		t.Fatalf("%+v; want each of %d events found or named", checked, all)
	}
	first := checked.First[0]
	for _, p := range checked.First {
		if first.Position > p.Position {
			first = p
		}
	}
	if s, err = storage.Open(storage.Config{Dir: dir}); err != nil {
		t.Fatalf("the other events must be readable: %v", err)
	}
	defer s.Close()
	low := uint64(0)
	for page := []*record.Event{nil}; len(page) > 0 && err == nil; {
		if page, err = s.Log().Page(low, s.Log().Head(), false); len(page) > 0 {
			low = page[len(page)-1].Position + 1
		}
	}
	if !errors.Is(err, record.ErrCorrupt) ||
		!strings.Contains(err.Error(), fmt.Sprintf("position %d:", first.Position)) {
		t.Fatalf("read of the log: %v, want position %d", err, first.Position)
	}
	if _, err := s.Log().StreamPage(first.Stream, 0, 0, false, 1); !errors.Is(err, record.ErrCorrupt) ||
		!strings.Contains(err.Error(), strconv.FormatUint(first.Position, 10)) {
		t.Fatalf("read of the stream: %v, want position %d", err, first.Position)
	}
}

// damageTable flips a bit in the middle of the largest table.
func damageTable(t *testing.T, dir string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	var largest []byte
	var path string
	for _, table := range tables {
		content, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > len(largest) {
			largest, path = content, table
		}
	}
	at := bytes.Index(largest, []byte("url.")) // in the log, where a name is not compressed
	if at < 0 {
		at = len(largest) / 4
	}
	largest[at] ^= 1
	if err := os.WriteFile(path, largest, 0o600); err != nil {
		t.Fatal(err)
	}
}
