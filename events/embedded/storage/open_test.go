package storage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
)

func TestOpenAfterUnfinishedCreation(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	if err := disk.MkdirAll("store", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LOCK", "FORMAT.new"} {
		f, err := disk.Create(disk.PathJoin("store", name), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	s, err := Open(Config{Dir: "store", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesFolders(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, text string
		want       error
	}{
		"newer format": {"FORMAT", "linkledger events 2\n", disk.ErrFormat},
		"no format":    {"FORMAT", "hello\n", disk.ErrForeign},
		"other files":  {"notes.txt", "hello\n", disk.ErrForeign},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Config{Dir: dir})
		if !errors.Is(err, tc.want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %v in one line", name, err, tc.want)
		}
		if got := listing(t, dir); got != tc.file {
			t.Errorf("%s: the folder holds %q now", name, got)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"a file":    {Dir: file},
		"no folder": {},
	} {
		if s, err := Open(cfg); err == nil {
			s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestOpenOnDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "events")
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if out := embeddedtest.Append(s.writer, "s", revision.NoStream, "a"); out.Err != nil {
		t.Fatal(out.Err)
	}
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, disk.ErrLocked) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("second open: %v, want ErrLocked in one line", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if got := s.Stat().Events; got != uint64(7)+1 {
		t.Errorf("%d events", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}
