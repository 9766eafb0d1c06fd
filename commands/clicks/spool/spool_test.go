package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustOpen(t fataler, cfg Config) *Spool {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// crash leaves the folder as a killed process does: unlocked. If torn is not empty, it is appended
// as a part of a record.
func crash(t fataler, s *Spool, torn []byte) {
	t.Helper()
	if s.out != nil && len(torn) > 0 {
		_, err := s.out.WriteAt(torn, s.newest().end)
		must(t, err)
	}
	must(t, s.Close())
}

// TestQueue compares the spool with a list, across restarts and crashes. A restart may restore
// removed records, but only at the front. It loses none.
func TestQueue(t *testing.T) {
	t.Parallel()
	newFolder := t.TempDir
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Dir: newFolder(), SegmentBytes: 64}
		s := mustOpen(t, cfg)
		node := s.Node()
		var all []string // all records ever appended
		head := 0        // index of the queue's head in all
		// take removes the oldest records, about this many bytes of them.
		take := func(t *rapid.T, bytes int64) {
			batch, err := s.Oldest(bytes)
			if errors.Is(err, ErrEmpty) && head == len(all) {
				return
			}
			must(t, err)
			for i, body := range batch.Bodies {
				if head+i >= len(all) || string(body) != all[head+i] {
					t.Fatalf("took %q at %d of %q", batch.Bodies, head, all)
				}
			}
			if len(batch.Bodies) == 0 || batch.Items != itemsOf(all[head:head+len(batch.Bodies)]) {
				t.Fatalf("took %d records of %d items", len(batch.Bodies), batch.Items)
			}
			must(t, s.Remove(batch))
			head += len(batch.Bodies)
		}
		restart := func() {
			s = mustOpen(t, cfg)
			if s.Node() != node || s.Damaged() != 0 {
				t.Fatalf("node %s was %s; %d damaged", s.Node(), node, s.Damaged())
			}
			records := s.Stats().Records
			if records < len(all)-head || records > len(all) {
				t.Fatalf("%d records after a restart, %d were in the queue", records, len(all)-head)
			}
			head = len(all) - records
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				body := fmt.Sprint(len(all), rapid.StringN(0, 40, -1).Draw(t, "body"))
				must(t, s.Append([]byte(body), len(body)))
				all = append(all, body)
			},
			"take":    func(t *rapid.T) { take(t, rapid.Int64Range(0, 200).Draw(t, "bytes")) },
			"restart": func(t *rapid.T) { must(t, s.Close()); restart() },
			"crash": func(t *rapid.T) {
				crash(t, s, rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "torn"))
				restart()
			},
			"": func(t *rapid.T) {
				if got := s.Stats(); got.Records != len(all)-head || got.Items != itemsOf(all[head:]) ||
					got.Oldest.IsZero() != (head == len(all)) {
					t.Fatalf("%+v, want %d records of %d items", got, len(all)-head, itemsOf(all[head:]))
				}
			},
		})
		for head < len(all) {
			take(t, 1)
		}
		if stats := s.Stats(); stats.Bytes != 0 || !stats.Oldest.IsZero() {
			t.Fatalf("an empty queue has %+v", stats)
		}
		must(t, s.Close())
	})
}

// itemsOf returns the number of items that records of TestQueue stand for.
func itemsOf(bodies []string) (items int) {
	for _, body := range bodies {
		items += len(body)
	}
	return items
}

func TestFull(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{Dir: t.TempDir(), MaxBytes: 200})
	defer func() { must(t, s.Close()) }()
	body := bytes.Repeat([]byte("x"), 100)
	must(t, s.Append(body, 1))
	if err := s.Append(body, 1); !errors.Is(err, ErrFull) {
		t.Fatalf("appended beyond the bound: %v", err)
	}
	got, err := s.Oldest(1)
	must(t, err)
	must(t, s.Remove(got))
	must(t, s.Append(body, 1)) // the removal made space
}

func TestOneUser(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := mustOpen(t, Config{Dir: folder})
	if _, err := Open(Config{Dir: folder}); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second user: %v", err)
	}
	must(t, s.Close())
	must(t, s.Close())
	for name, err := range map[string]error{"append": s.Append(nil, 1), "remove": s.Remove(Batch{})} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
	must(t, mustOpen(t, Config{Dir: folder}).Close())
}

// TestDamage checks that a damaged segment is moved aside and that the rest of the queue can be
// read.
func TestDamage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cfg := Config{Dir: folder, SegmentBytes: 1} // one record per segment
	s := mustOpen(t, cfg)
	for i := range 3 {
		must(t, s.Append(fmt.Append(nil, "record ", i), 1))
	}
	first := s.segments[0].path
	must(t, s.Close())
	spoilt, err := os.ReadFile(first)
	must(t, err)
	spoilt[len(spoilt)-1] ^= 1
	must(t, os.WriteFile(first, spoilt, 0o600))
	s = mustOpen(t, cfg)
	defer func() { must(t, s.Close()) }()
	if s.Damaged() != 1 || s.Stats().Records != 2 {
		t.Errorf("%d damaged, %+v", s.Damaged(), s.Stats())
	}
	oldest, err := s.Oldest(1)
	must(t, err)
	if string(oldest.Bodies[0]) != "record 1" {
		t.Errorf("oldest is %q", oldest.Bodies)
	}
	aside, err := filepath.Glob(filepath.Join(folder, "*.damaged"))
	if err != nil || len(aside) != 1 {
		t.Errorf("kept aside: %v, %v", aside, err)
	}
}

// TestDiskFails checks that a record that the disk did not accept is not in the queue, and that the
// next record is.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{Dir: t.TempDir()})
	defer func() { must(t, s.Close()) }()
	must(t, s.Append([]byte("one"), 1))
	must(t, s.out.Close())
	if err := s.Append([]byte("two"), 1); err == nil {
		t.Fatal("appended to a closed file")
	}
	must(t, s.Append([]byte("three"), 1))
	for _, want := range []string{"one", "three"} {
		oldest, err := s.Oldest(1)
		if err != nil || string(oldest.Bodies[0]) != want {
			t.Fatalf("oldest is %q, %v; want %s", oldest.Bodies, err, want)
		}
		must(t, s.Remove(oldest))
	}
}

// TestFormerFormat checks that a segment of the previous format drains like any other. Each of its
// records stands for one item.
func TestFormerFormat(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	former, err := os.ReadFile(filepath.Join("testdata", "format1.spool"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, segmentName(1)), former, 0o600))
	s := mustOpen(t, Config{Dir: folder})
	defer func() { must(t, s.Close()) }()
	if s.Damaged() != 0 || s.Stats().Items != 2 {
		t.Fatalf("%d damaged, %+v", s.Damaged(), s.Stats())
	}
	must(t, s.Append([]byte("three"), 3))
	for _, want := range [][]string{{"one", "two"}, {"three"}} {
		oldest, err := s.Oldest(1 << 20)
		must(t, err)
		if got := fmt.Sprintf("%s", oldest.Bodies); got != fmt.Sprint(want) {
			t.Errorf("oldest are %s, want %s", got, want)
		}
		must(t, s.Remove(oldest))
	}
}

func BenchmarkAppend(b *testing.B) {
	s, err := Open(Config{Dir: b.TempDir(), MaxBytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 64*120)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := s.Append(body, 64); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
