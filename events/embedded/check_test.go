package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// busy fills a store with every kind of stream that there is.
func busy(t *testing.T, s *Store) {
	t.Helper()
	for i := range 20 {
		stream := fmt.Sprintf("url-%d", i)
		for j := range i + 1 {
			if out := s.testAppend(stream, int64(j-1), fmt.Sprintf("%d/%d", i, j)); out.err != nil {
				t.Fatal(out.err)
			}
		}
	}
	s.testAppend("$$url-1", expectAny, `not metadata`)
	s.testAppend("$$only-metadata", expectAny, `{}`)
	s.testAppend("$$$$deep", expectAny, `{}`)
	s.testRemove("url-2", expectAny, (*ledger).planDelete)
	s.testAppend("url-2", expectAny, "undeleted")
	s.testRemove("url-3", expectAny, (*ledger).planDelete)
	s.testRemove("url-4", expectAny, (*ledger).planTombstone)
	s.testRemove("never-written", expectAny, (*ledger).planTombstone)
}

func wantClean(t *testing.T, checked Checked, err error, want Stat) {
	t.Helper()
	if err != nil || checked.Problems != 0 || checked.Events != want.Events {
		t.Fatalf("%+v, %v; want %d events and no problem", checked, err, want.Events)
	}
}

func TestCheckOfASoundStore(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	s := open(t, func(c *Config) { c.FS = disk })
	busy(t, s.Store)
	checked, err := s.Check(testContext(t))
	wantClean(t, checked, err, s.Stat())
	if err := s.Backup("copies/1"); err != nil {
		t.Fatal(err)
	}
	s.testAppend("s", expectAny, "after the backup")
	f, err := OpenFolder(Config{Dir: "copies/1", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	checked, err = f.Check(testContext(t))
	stat, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		t.Fatal(err)
	}
	wantClean(t, checked, err, stat)
	if stat.Events+1 != s.Stat().Events {
		t.Fatalf("%d events in the backup, %d in the store", stat.Events, s.Stat().Events)
	}
	again, err := Open(Config{Dir: "copies/1", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if out := again.testAppend("url-1", 1, "goes on"); out.err != nil {
		t.Fatalf("append to the backup: %v", out.err)
	}
}

// TestCheckFinds damages one thing at a time.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	set := func(key, value []byte) func(*pebble.Batch) error {
		return func(b *pebble.Batch) error { return b.Set(key, value, nil) }
	}
	remove := func(key []byte) func(*pebble.Batch) error {
		return func(b *pebble.Batch) error { return b.Delete(key, nil) }
	}
	for name, damage := range map[string]func(s *Store, rec *record) (change func(*pebble.Batch) error, stream string){
		"a record with a wrong checksum": func(_ *Store, rec *record) (func(*pebble.Batch) error, string) {
			value := rec.encode()
			value[20] ^= 1
			return set(eventKey(rec.pos), value), rec.stream
		},
		"a missing record": func(_ *Store, rec *record) (func(*pebble.Batch) error, string) {
			return remove(eventKey(rec.pos)), rec.stream
		},
		"a missing entry of the index": func(_ *Store, rec *record) (func(*pebble.Batch) error, string) {
			return remove(indexKey(rec.stream, rec.number)), rec.stream
		},
		"an entry that leads elsewhere": func(_ *Store, rec *record) (func(*pebble.Batch) error, string) {
			return set(indexKey(rec.stream, rec.number), eventKey(firstPosition)[1:]), rec.stream
		},
		"an entry of no event": func(*Store, *record) (func(*pebble.Batch) error, string) {
			return set(indexKey("ghost", 0), eventKey(1 << 40)[1:]), "ghost"
		},
		"a malformed entry": func(*Store, *record) (func(*pebble.Batch) error, string) {
			return set([]byte{familyIndex, 200}, nil), "$$only-metadata"
		},
		"a missing state": func(_ *Store, rec *record) (func(*pebble.Batch) error, string) {
			return remove(stateKey(rec.stream)), rec.stream
		},
		"a state of no stream": func(*Store, *record) (func(*pebble.Batch) error, string) {
			return set(stateKey("ghost"), (&streamState{last: 3}).encode()), ""
		},
		"a malformed state": func(_ *Store, rec *record) (func(*pebble.Batch) error, string) {
			return set(stateKey(rec.stream), []byte("?")), rec.stream
		},
		"a state that forgot its metadata": func(s *Store, _ *record) (func(*pebble.Batch) error, string) {
			st, err := loadState(s.db, "url-2")
			if err != nil {
				return nil, err.Error()
			}
			st.limits = limits{}
			return set(stateKey("url-2"), st.encode()), "url-2"
		},
		"wrong counters": func(s *Store, _ *record) (func(*pebble.Batch) error, string) {
			c := *s.counters.Load()
			c.streams++
			return set(countersKey, c.encode()), ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openBare(t)
			busy(t, s)
			rec, err := loadNumber(s.db, "url-9", 4)
			if err != nil {
				t.Fatal(err)
			}
			change, stream := damage(s, rec)
			batch := s.db.NewBatch()
			if err := errors.Join(change(batch), s.db.Apply(batch, pebble.Sync)); err != nil {
				t.Fatal(err)
			}
			checked, err := s.Check(testContext(t))
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

// TestDamagedFile flips a byte of a file, as a failing disk would. Pebble then
// refuses a whole block; check names each event in it, the read that meets it
// names the first.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "events")
	s, err := Open(Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	const written = 2000
	for i := range written {
		s.testAppend(fmt.Sprintf("url-%d", i), expectNoStream, fmt.Sprintf("event %d %s", i, strings.Repeat("x", 300)))
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
	checked, err := f.Check(testContext(t))
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
		t.Fatalf("the other events can be served: %v", err)
	}
	defer s.Close()
	low := uint64(0)
	for page := []*record{nil}; len(page) > 0 && err == nil; {
		if page, err = s.pageAll(low, s.tail.head.Load(), false); len(page) > 0 {
			low = page[len(page)-1].pos + 1
		}
	}
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("position %d:", first.Position)) {
		t.Fatalf("read of the log: %v, want position %d", err, first.Position)
	}
	if _, err := loadNumber(s.db, first.Stream, 0); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprint(first.Position)) {
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
	at := bytes.Index(largest, []byte("url.")) // within the log, wherever compression left a name
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
	for i := range 2 * checkPace {
		s.testAppend("s", int64(i-1), fmt.Sprint(i))
	}
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if checked, err := s.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v; want canceled", checked, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(testContext(t)); !errors.Is(err, ErrClosed) {
		t.Fatalf("check after close: %v", err)
	}
	if err := s.Backup("copy"); !errors.Is(err, ErrClosed) {
		t.Fatalf("backup after close: %v", err)
	}
}
