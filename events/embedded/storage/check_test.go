package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storecheck"
)

// busy fills a store with every kind of stream.
func busy(t *testing.T, s *Store) {
	t.Helper()
	for i := range 20 {
		stream := fmt.Sprintf("url-%d", i)
		for j := range i + 1 {
			if out := embeddedtest.Append(s.writer, stream, int64(j-1), fmt.Sprintf("%d/%d", i, j)); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
	}
	embeddedtest.Append(s.writer, "$$url-1", revision.Any, `not metadata`)
	embeddedtest.Append(s.writer, "$$only-metadata", revision.Any, `{}`)
	embeddedtest.Append(s.writer, "$$$$deep", revision.Any, `{}`)
	embeddedtest.Remove(s.writer, "url-2", revision.Any, (*ledger.Ledger).Delete)
	embeddedtest.Append(s.writer, "url-2", revision.Any, "undeleted")
	embeddedtest.Remove(s.writer, "url-3", revision.Any, (*ledger.Ledger).Delete)
	embeddedtest.Remove(s.writer, "url-4", revision.Any, (*ledger.Ledger).Tombstone)
	embeddedtest.Remove(s.writer, "never-written", revision.Any, (*ledger.Ledger).Tombstone)
}

func wantClean(t *testing.T, checked storecheck.Report, err error, want Stat) {
	t.Helper()
	if err != nil || checked.Problems != 0 || checked.Events != want.Events {
		t.Fatalf("%+v, %v; want %d events and no problem", checked, err, want.Events)
	}
}

func TestCheckOfASoundStore(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	s := openOn(t, disk)
	busy(t, s)
	checked, err := s.Check(t.Context())
	wantClean(t, checked, err, s.Stat())
	name, release, err := s.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	copied := disk.PathJoin("store", name)
	embeddedtest.Append(s.writer, "s", revision.Any, "after the backup")
	f, err := OpenFolder(Config{Dir: copied, FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	checked, err = f.Check(t.Context())
	stat, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		t.Fatal(err)
	}
	wantClean(t, checked, err, stat)
	if stat.Events+1 != s.Stat().Events {
		t.Fatalf("%d events in the backup, %d in the store", stat.Events, s.Stat().Events)
	}
	again, err := Open(Config{Dir: copied, FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	if out := embeddedtest.Append(again.writer, "url-1", 1, "goes on"); out.Err != nil {
		t.Fatalf("append to the backup: %v", out.Err)
	}
	if err := errors.Join(again.Close(), release()); err != nil {
		t.Error(err)
	}
	if _, err := disk.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state is still there: %v", err)
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
	for name, damage := range map[string]func(s *Store, rec *record.Event) (change func(*pebble.Batch) error, stream string){
		"a record with a wrong checksum": func(_ *Store, rec *record.Event) (func(*pebble.Batch) error, string) {
			value := rec.Encode()
			value[20] ^= 1
			return set(record.EventKey(rec.Position), value), rec.Stream
		},
		"a missing record": func(_ *Store, rec *record.Event) (func(*pebble.Batch) error, string) {
			return remove(record.EventKey(rec.Position)), rec.Stream
		},
		"a missing entry of the index": func(_ *Store, rec *record.Event) (func(*pebble.Batch) error, string) {
			return remove(record.IndexKey(rec.Stream, rec.Number)), rec.Stream
		},
		"an entry that leads elsewhere": func(_ *Store, rec *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.IndexKey(rec.Stream, rec.Number), record.EventKey(record.FirstPosition)[1:]), rec.Stream
		},
		"an entry of no event": func(*Store, *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.IndexKey("ghost", 0), record.EventKey(1 << 40)[1:]), "ghost"
		},
		"a malformed entry": func(*Store, *record.Event) (func(*pebble.Batch) error, string) {
			return set([]byte{record.FamilyIndex, 200}, nil), "$$only-metadata"
		},
		"a missing state": func(_ *Store, rec *record.Event) (func(*pebble.Batch) error, string) {
			return remove(record.StateKey(rec.Stream)), rec.Stream
		},
		"a state of no stream": func(*Store, *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.StateKey("ghost"), (&record.StreamState{Last: 3}).Encode()), ""
		},
		"a malformed state": func(_ *Store, rec *record.Event) (func(*pebble.Batch) error, string) {
			return set(record.StateKey(rec.Stream), []byte("?")), rec.Stream
		},
		"a state that forgot its metadata": func(s *Store, _ *record.Event) (func(*pebble.Batch) error, string) {
			st, err := record.LoadState(s.db, "url-2")
			if err != nil {
				return nil, err.Error()
			}
			st.Limits = record.Limits{}
			return set(record.StateKey("url-2"), st.Encode()), "url-2"
		},
		"wrong counters": func(s *Store, _ *record.Event) (func(*pebble.Batch) error, string) {
			c := *s.counters.Load()
			c.Streams++
			return set(record.CountersKey, c.Encode()), ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openBare(t)
			busy(t, s)
			rec, err := record.LoadNumber(s.db, "url-9", 4)
			if err != nil {
				t.Fatal(err)
			}
			change, stream := damage(s, rec)
			batch := s.db.NewBatch()
			if err := errors.Join(change(batch), s.db.Apply(batch, pebble.Sync)); err != nil {
				t.Fatal(err)
			}
			checked, err := s.Check(t.Context())
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
	s, err := Open(Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	const written = 2000
	for i := range written {
		embeddedtest.Append(
			s.writer, fmt.Sprintf("url-%d", i), revision.NoStream,
			fmt.Sprintf("event %d %s", i, strings.Repeat("x", 300)),
		)
	}
	all := s.Stat().Events
	if err := errors.Join(s.db.Flush(), s.db.Compact(t.Context(), []byte{0}, []byte{9}, false), s.Close()); err != nil {
		t.Fatal(err)
	}
	damageTable(t, dir)

	f, err := OpenFolder(Config{Dir: dir})
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
	if s, err = Open(Config{Dir: dir}); err != nil {
		t.Fatalf("the other events must be readable: %v", err)
	}
	defer s.Close()
	low := uint64(0)
	for page := []*record.Event{nil}; len(page) > 0 && err == nil; {
		if page, err = s.log.Page(low, s.log.Head(), false); len(page) > 0 {
			low = page[len(page)-1].Position + 1
		}
	}
	if !errors.Is(err, record.ErrCorrupt) ||
		!strings.Contains(err.Error(), fmt.Sprintf("position %d:", first.Position)) {
		t.Fatalf("read of the log: %v, want position %d", err, first.Position)
	}
	if _, err := record.LoadNumber(s.db, first.Stream, 0); !errors.Is(err, record.ErrCorrupt) ||
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

func TestCheckEnds(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	for i := range 2048 {
		embeddedtest.Append(s.writer, "s", int64(i-1), strconv.Itoa(i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if checked, err := s.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v; want canceled", checked, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(t.Context()); !errors.Is(err, groupcommit.ErrClosed) {
		t.Fatalf("check after close: %v", err)
	}
	if _, _, err := s.Freeze(); !errors.Is(err, groupcommit.ErrClosed) {
		t.Fatalf("backup after close: %v", err)
	}
}
