package spool

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTrouble checks that a spool whose folder cannot be written says so, and takes records again
// by itself once it can.
func TestTrouble(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "spool")
	s := mustOpen(t, Config{Dir: folder})
	defer func() { must(t, s.Close()) }()
	must(t, s.Trouble())
	must(t, os.Rename(folder, folder+".away"))
	if err := s.Append([]byte("lost"), 1); err == nil {
		t.Error("a record was written to a missing folder")
	}
	if s.Trouble() == nil || s.Stats().Records != 0 {
		t.Errorf("%+v, and no trouble", s.Stats())
	}
	must(t, os.Rename(folder+".away", folder))
	must(t, s.Trouble())
	must(t, s.Append([]byte("kept"), 1))
	if batch, err := s.Oldest(1); err != nil || string(batch.Bodies[0]) != "kept" {
		t.Errorf("%q, %v", batch.Bodies, err)
	}
}

// TestCheckSpace checks that a record that leaves less than the reserve is refused.
func TestCheckSpace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	must(t, checkSpace(folder, 0))
	if err := checkSpace(folder, 1<<60); err == nil {
		t.Error("a record larger than the disk fits")
	}
}
