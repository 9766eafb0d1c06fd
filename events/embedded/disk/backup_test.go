package disk

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// busyFS calls write when a reader has reached the end of what is written in a log.
type busyFS struct {
	vfs.FS

	write atomic.Pointer[func()]
}

// Open implements vfs.FS.
func (fs *busyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name, opts...)
	if write := fs.write.Load(); err == nil && write != nil && strings.HasSuffix(name, logSuffix) {
		return &busyFile{File: f, write: *write}, nil
	}
	return f, err
}

type busyFile struct {
	vfs.File

	write   func()
	reached bool
}

// Read implements io.Reader.
func (f *busyFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	isEnd := len(p) < 32<<10 || bytes.HasSuffix(p[:n], make([]byte, 16))
	if isEnd && !f.reached {
		f.reached = true
		f.write()
	}
	return n, err
}

// TestFreezeBesideWrites freezes a database while more is written to the log that is being copied.
func TestFreezeBesideWrites(t *testing.T) {
	t.Parallel()
	fsys := &busyFS{FS: vfs.Default}
	dir := t.TempDir()
	d, err := Open(filepath.Join(dir, "events"), fsys, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	keys := 0
	write := func() {
		for range 20 {
			keys++
			if err := d.Set(fmt.Append(nil, keys), bytes.Repeat([]byte{7}, 5000), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		write()
		before := keys
		fsys.write.Store(&write)
		name, err := d.Freeze()
		fsys.write.Store(nil)
		if err != nil {
			t.Fatal(err)
		}
		if keys == before {
			t.Fatal("nothing was written beside the copy of the log")
		}
		expectKeys(t, filepath.Join(dir, "events", name), before)
		if err := d.Release(name); err != nil {
			t.Error(err)
		}
	}
}

// expectKeys checks that a frozen database opens, and has the keys from 1 to a number.
func expectKeys(t *testing.T, dir string, to int) {
	t.Helper()
	frozen, err := OpenReadOnly(dir, vfs.Default, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for key := 1; key <= to; key++ {
		value, closer, err := frozen.Get(fmt.Append(nil, key))
		if err != nil || len(value) != 5000 {
			t.Fatalf("the key %d of %d: %v", key, to, err)
		}
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := frozen.Close(); err != nil {
		t.Fatal(err)
	}
}
