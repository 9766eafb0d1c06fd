package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "events")
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Backup(filepath.Join(parent, "copy")), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(parent, "copy")} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != folderMode {
			t.Errorf("%s: %v, %v; want mode %o", path, info.Mode(), err, folderMode)
		}
	}
	if got := listing(t, parent); got != "copy events" {
		t.Errorf("the backup left %q", got)
	}
}

func TestBackupRefusals(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	s := open(t, func(c *Config) { c.FS = disk })
	for _, dir := range []string{"taken", "cut-short.partial"} {
		if err := disk.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := s.Backup(strings.TrimSuffix(dir, ".partial")); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want ErrExists", dir, err)
		}
	}
}

func TestOpenFolderRefusals(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	if _, err := OpenFolder(Config{Dir: "missing", FS: disk}); !errors.Is(err, ErrNoStore) {
		t.Errorf("missing folder: %v", err)
	}
	if _, err := disk.Stat("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder was created")
	}
	open(t, func(c *Config) { c.FS = disk })
	if _, err := OpenFolder(Config{Dir: "store", FS: disk}); !errors.Is(err, ErrLocked) {
		t.Errorf("running store: %v", err)
	}
	if _, err := OpenFolder(Config{}); err == nil {
		t.Error("no folder was accepted")
	}
}

// TestOpenOnAFullDisk refuses before it touches anything.
func TestOpenOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: leastFree - 1})
	_, err := Open(Config{Dir: "store", FS: disk})
	if !errors.Is(err, ErrFull) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v, want ErrFull in one line", err)
	}
	if names, err := disk.List("store"); err != nil || len(names) > 0 {
		t.Fatalf("the folder holds %v, %v", names, err)
	}
	disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: leastFree})
	s, err := Open(Config{Dir: "store", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDiskFillsUp fills the disk under a running store: the append says why it
// is refused, and with room again everything acknowledged is there.
func TestDiskFillsUp(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	full := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".log") {
			return fmt.Errorf("write %s: %w", op.Path, syscall.ENOSPC)
		}
		return nil
	})}
	store, err := Open(Config{Dir: "store", FS: errorfs.Wrap(disk, &full)})
	if err != nil {
		t.Fatal(err)
	}
	s := serveFailing(t, store)
	s.testAppend("s", expectNoStream, "a")
	full.On()
	_, err = rawAppend(t, dialRaw(t, s), optionsReq("s"), eventReq(proposedWire("b")))
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("append: %v", err)
	}
	if st := s.Stat(); !errors.Is(st.Failure, syscall.ENOSPC) {
		t.Fatalf("stat: %+v", st)
	}
	full.Off()
	_ = store.Close() // Pebble reports the failure once more
	again, err := Open(Config{Dir: "store", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	checked, err := again.Check(testContext(t))
	wantClean(t, checked, err, again.Stat())
	if out := again.testAppend("s", 0, "c"); out.err != nil {
		t.Fatal(out.err)
	}
}

// TestUnreadableFolder takes away one kind of file at a time.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{formatFile, "LOCK", "MANIFEST", ".log"} {
		disk := vfs.NewMem()
		s, err := Open(Config{Dir: "store", FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		s.testAppend("s", expectNoStream, "a")
		if err := errors.Join(s.db.Flush(), s.Close()); err != nil {
			t.Fatal(err)
		}
		before := disk.String()
		refusing := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
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
		if after := disk.String(); after != before {
			t.Errorf("%s: the folder was changed from\n%s to\n%s", kind, before, after)
		}
	}
}
