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

// crash leaves the folder as a killed process does: unlocked, perhaps with part of a record at the end.
func crash(t fataler, s *Spool, torn []byte) {
	t.Helper()
	if s.out != nil && len(torn) > 0 {
		_, err := s.out.WriteAt(torn, s.newest().end)
		must(t, err)
	}
	must(t, s.Close())
}

// TestQueue compares the spool with a list, across restarts and crashes. A restart may bring removed records back, but
// only in front, and loses none.
func TestQueue(t *testing.T) {
	t.Parallel()
	newFolder := t.TempDir
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Dir: newFolder(), SegmentBytes: 64}
		s := mustOpen(t, cfg)
		node := s.Node()
		var all []string // ever appended
		head := 0        // of the queue, in all
		take := func() (string, bool) {
			body, err := s.Oldest()
			if errors.Is(err, ErrEmpty) {
				return "", false
			}
			must(t, err)
			must(t, s.Remove(body))
			return string(body), true
		}
		restart := func() {
			s = mustOpen(t, cfg)
			if s.Node() != node || s.Damaged() != 0 {
				t.Fatalf("node %s was %s; %d damaged", s.Node(), node, s.Damaged())
			}
			kept := s.Stats().Records
			if kept < len(all)-head || kept > len(all) {
				t.Fatalf("%d records after a restart, %d were in the queue", kept, len(all)-head)
			}
			head = len(all) - kept
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				body := fmt.Sprint(len(all), rapid.StringN(0, 40, -1).Draw(t, "body"))
				must(t, s.Append([]byte(body)))
				all = append(all, body)
			},
			"take": func(t *rapid.T) {
				body, ok := take()
				if ok != (head < len(all)) || ok && body != all[head] {
					t.Fatalf("took %q (%v) at %d of %q", body, ok, head, all)
				}
				if ok {
					head++
				}
			},
			"restart": func(t *rapid.T) { must(t, s.Close()); restart() },
			"crash": func(t *rapid.T) {
				crash(t, s, rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "torn"))
				restart()
			},
			"": func(t *rapid.T) {
				if got := s.Stats().Records; got != len(all)-head {
					t.Fatalf("%d records, want %d", got, len(all)-head)
				}
			},
		})
		for head < len(all) {
			if body, ok := take(); !ok || body != all[head] {
				t.Fatalf("took %q (%v) at %d of %q", body, ok, head, all)
			}
			head++
		}
		if stats := s.Stats(); stats.Bytes != 0 || !stats.Oldest.IsZero() {
			t.Fatalf("an empty queue has %+v", stats)
		}
		must(t, s.Close())
	})
}

func TestFull(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{Dir: t.TempDir(), MaxBytes: 200})
	defer func() { must(t, s.Close()) }()
	body := bytes.Repeat([]byte("x"), 100)
	must(t, s.Append(body))
	if err := s.Append(body); !errors.Is(err, ErrFull) {
		t.Fatalf("appended beyond the bound: %v", err)
	}
	got, err := s.Oldest()
	must(t, err)
	must(t, s.Remove(got))
	must(t, s.Append(body)) // there is room again
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
	for name, err := range map[string]error{"append": s.Append(nil), "remove": s.Remove(nil)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
	must(t, mustOpen(t, Config{Dir: folder}).Close())
}

// What the disk has spoilt is kept aside, and the rest of the queue is served.
func TestDamage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cfg := Config{Dir: folder, SegmentBytes: 1} // a segment per record
	s := mustOpen(t, cfg)
	for i := range 3 {
		must(t, s.Append(fmt.Append(nil, "record ", i)))
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
	body, err := s.Oldest()
	must(t, err)
	if string(body) != "record 1" {
		t.Errorf("oldest is %q", body)
	}
	aside, err := filepath.Glob(filepath.Join(folder, "*.damaged"))
	if err != nil || len(aside) != 1 {
		t.Errorf("kept aside: %v, %v", aside, err)
	}
}

// A record that a full or failing disk refuses is not in the queue, and the next one is.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{Dir: t.TempDir()})
	defer func() { must(t, s.Close()) }()
	must(t, s.Append([]byte("one")))
	must(t, s.out.Close())
	if err := s.Append([]byte("two")); err == nil {
		t.Fatal("appended to a closed file")
	}
	must(t, s.Append([]byte("three")))
	for _, want := range []string{"one", "three"} {
		body, err := s.Oldest()
		if err != nil || string(body) != want {
			t.Fatalf("oldest is %q, %v; want %s", body, err, want)
		}
		must(t, s.Remove(body))
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
		if err := s.Append(body); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
