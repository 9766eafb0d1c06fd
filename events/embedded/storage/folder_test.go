package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
)

func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "events")
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v; want mode %o", dir, info.Mode(), err, 0o700)
	}
}

// TestOpenRemovesStates checks that a state that a killed process has left is removed.
func TestOpenRemovesStates(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	s, err := Open(Config{Dir: "store", FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	name, _, err := s.Freeze()
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	openOn(t, fsys)
	if _, err := fsys.Stat(fsys.PathJoin("store", name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state is still there: %v", err)
	}
}

func TestOpenFolderRefusals(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	if _, err := OpenFolder(Config{Dir: "missing", FS: fsys}); !errors.Is(err, disk.ErrNoStore) {
		t.Errorf("missing folder: %v", err)
	}
	if _, err := fsys.Stat("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder was created")
	}
	openOn(t, fsys)
	if _, err := OpenFolder(Config{Dir: "store", FS: fsys}); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("running store: %v", err)
	}
	if _, err := OpenFolder(Config{}); err == nil {
		t.Error("no folder was accepted")
	}
}

// TestOpenOnAFullDisk checks that Open refuses a full disk before it changes anything.
func TestOpenOnAFullDisk(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	for _, needed := range []uint64{disk.ReserveBytes, disk.MinFreeBytes} { // first a new store
		fsys.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: needed - 1})
		if err := fsys.MkdirAll("store", 0o700); err != nil {
			t.Fatal(err)
		}
		before := fsys.String()
		_, err := Open(Config{Dir: "store", FS: fsys})
		if !errors.Is(err, disk.ErrFull) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%v, want ErrFull in one line", err)
		}
		if after := fsys.String(); after != before {
			t.Fatalf("the folder was changed from\n%s to\n%s", before, after)
		}
		fsys.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: needed})
		s, err := Open(Config{Dir: "store", FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreadableFolder makes one kind of file unreadable at a time.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"FORMAT", "LOCK", "MANIFEST", ".log"} {
		fsys := vfs.NewMem()
		s, err := Open(Config{Dir: "store", FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		embeddedtest.Append(s.writer, "s", revision.NoStream, "a")
		if err := errors.Join(s.db.Flush(), s.Close()); err != nil {
			t.Fatal(err)
		}
		before := fsys.String()
		refusing := errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
			opens := op.Kind == errorfs.OpOpen || op.Kind == errorfs.OpLock
			if opens && strings.Contains(filepath.Base(op.Path), kind) {
				return &fs.PathError{Op: "open", Path: op.Path, Err: fs.ErrPermission}
			}
			return nil
		}))
		_, err = Open(Config{Dir: "store", FS: refusing})
		if !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want permission denied in one line", kind, err)
		}
		if after := fsys.String(); after != before {
			t.Errorf("%s: the folder was changed from\n%s to\n%s", kind, before, after)
		}
	}
}
