package spool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// inTheWay puts a folder that is not empty in the place of a file, so that the file can be neither
// opened nor removed. The result puts the file back.
func inTheWay(t *testing.T, path string) (putBack func()) {
	t.Helper()
	aside := path + ".away"
	if err := os.Rename(path, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	must(t, os.MkdirAll(filepath.Join(path, "in"), 0o700))
	return func() {
		t.Helper()
		must(t, os.RemoveAll(path))
		must(t, os.Rename(aside, path))
	}
}

// segments opens a queue with one record in each segment.
func segments(t *testing.T, records ...string) *Spool {
	t.Helper()
	s := mustOpen(t, Config{Dir: t.TempDir(), SegmentBytes: 1})
	t.Cleanup(func() { must(t, s.Close()) })
	for _, record := range records {
		must(t, s.Append([]byte(record), 1))
	}
	return s
}

// next removes the oldest record, and checks that it is the wanted one.
func next(t *testing.T, s *Spool, want string) {
	t.Helper()
	oldest, err := s.Oldest(1)
	if err != nil || string(oldest.Bodies[0]) != want {
		t.Fatalf("oldest is %q, %v; want %s", oldest.Bodies, err, want)
	}
	must(t, s.Remove(oldest))
}

// TestFileStays checks that a segment which the disk does not remove stops no other, and that it is
// removed later.
func TestFileStays(t *testing.T) {
	t.Parallel()
	s := segments(t, "one", "two")
	first := s.segments[0].path
	oldest, err := s.Oldest(1)
	must(t, err)
	putBack := inTheWay(t, first)
	must(t, s.Remove(oldest))
	next(t, s, "two")
	must(t, s.Append([]byte("three"), 1))
	next(t, s, "three")
	if _, err := s.Oldest(1); !errors.Is(err, ErrEmpty) || s.Stats().Records != 0 {
		t.Errorf("%+v, %v", s.Stats(), err)
	}
	s.tried = time.Time{}
	if s.Trouble() == nil {
		t.Error("no trouble with a file that cannot be removed")
	}
	putBack()
	must(t, s.Trouble())
	if _, err := os.Stat(first); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the segment is still there: %v", err)
	}
}

// TestSegmentIsGone checks that a segment which is lost while the queue is in use causes one error, and stops no other
// segment.
func TestSegmentIsGone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(path string) error
		kept  int // damaged files
	}{
		"removed":   {os.Remove, 0},
		"emptied":   {func(path string) error { return os.Truncate(path, int64(len(formatLine))) }, 1},
		"cut off":   {func(path string) error { return os.Truncate(path, int64(len(formatLine))+5) }, 1},
		"rewritten": {func(path string) error { return os.WriteFile(path, make([]byte, 100), 0o600) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := segments(t, "one", "two", "three")
			must(t, tc.spoil(s.segments[1].path))
			next(t, s, "one")
			if oldest, err := s.Oldest(1); err == nil {
				t.Errorf("read %q from a segment that is gone", oldest.Bodies)
			}
			next(t, s, "three")
			kept, err := filepath.Glob(filepath.Join(s.cfg.Dir, "*.damaged"))
			if err != nil || len(kept) != tc.kept {
				t.Errorf("kept %v, %v", kept, err)
			}
		})
	}
}

// TestUnreadableDisk checks that a disk that cannot be read at the start is no damage: nothing is
// cut off, and all records are there once it can be read.
func TestUnreadableDisk(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), SegmentBytes: 1}
	s := mustOpen(t, cfg)
	must(t, s.Append([]byte("one"), 1))
	last := s.newest().path
	must(t, s.Close())
	putBack := inTheWay(t, last)
	if s, err := Open(cfg); err == nil {
		t.Fatalf("opened with %+v", s.Stats())
	}
	putBack()
	s = mustOpen(t, cfg)
	defer func() { must(t, s.Close()) }()
	next(t, s, "one")
}

// TestNameIsTaken checks that a file in the place of the next segment costs one record at most.
func TestNameIsTaken(t *testing.T) {
	t.Parallel()
	s := segments(t, "one")
	inTheWay(t, filepath.Join(s.cfg.Dir, segmentName(2)))
	if err := s.Append([]byte("two"), 1); err == nil {
		t.Error("a record was written into a folder")
	}
	must(t, s.Append([]byte("three"), 1))
	next(t, s, "one")
	next(t, s, "three")
}

// TestRefusedRecordIsCutOff checks that a record which was refused is not in the queue after a
// restart, although the disk refused to cut it off at first.
func TestRefusedRecordIsCutOff(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir()}
	s := mustOpen(t, cfg)
	must(t, s.Append([]byte("one"), 1))
	segment := s.newest()
	refused := record{at: time.Now(), items: 1, body: []byte("two")}
	_, err := s.out.WriteAt(refused.encode(), segment.end)
	must(t, err)
	must(t, s.out.Close())
	putBack := inTheWay(t, segment.path)
	if err := s.Append(refused.body, 1); err == nil {
		t.Fatal("appended to a closed file")
	}
	putBack()
	must(t, s.Trouble())
	must(t, s.Close())
	s = mustOpen(t, cfg)
	defer func() { must(t, s.Close()) }()
	if s.Stats().Records != 1 || s.Damaged() != 0 {
		t.Errorf("%+v, %d damaged", s.Stats(), s.Damaged())
	}
	next(t, s, "one")
}

// TestIdleTrouble checks that an unused queue reports that its disk has failed.
func TestIdleTrouble(t *testing.T) {
	t.Parallel()
	s := segments(t)
	must(t, s.Trouble())
	putBack := inTheWay(t, s.cfg.Dir+"/"+probeName)
	s.tried = time.Now().Add(-2 * probeInterval)
	if s.Trouble() == nil {
		t.Error("no trouble")
	}
	must(t, os.WriteFile(s.cfg.Dir+"/"+probeName+".away", nil, 0o600))
	putBack()
	must(t, s.Trouble())
}
