package disk

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardedFS keeps the process alive when a write-ahead log cannot be written. Pebble panics, or
// ends the process, if it cannot create, sync or close such a log. guardedFS hides the error from
// Pebble and calls DB.Fail with it. So a failed sync looks successful to Pebble. A caller that
// waits for a sync MUST look at DB.Err afterwards, and MUST NOT acknowledge a write after a
// failure.
//
// After a failure guardedFS creates no more logs, so the log that failed stays the last one. When
// the store is opened again, Pebble accepts that the end of the last log is cut off.
type guardedFS struct {
	vfs.FS

	db *DB
	// created is true from the creation of a log until a sync of the folder fails.
	created *atomic.Bool
}

func newGuardedFS(fsys vfs.FS, db *DB) guardedFS {
	return guardedFS{fsys, db, new(atomic.Bool)}
}

// Create implements vfs.FS.
func (fs guardedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !strings.HasSuffix(name, logSuffix) {
		return fs.FS.Create(name, category)
	}
	return fs.log(func() (vfs.File, error) { return fs.FS.Create(name, category) })
}

// ReuseForWrite implements vfs.FS.
func (fs guardedFS) ReuseForWrite(
	oldName, newName string, category vfs.DiskWriteCategory,
) (vfs.File, error) {
	if !strings.HasSuffix(newName, logSuffix) {
		return fs.FS.ReuseForWrite(oldName, newName, category)
	}
	return fs.log(func() (vfs.File, error) {
		return fs.FS.ReuseForWrite(oldName, newName, category)
	})
}

// log returns the log that create makes. After a failure it returns a file in memory, which is
// never read.
func (fs guardedFS) log(create func() (vfs.File, error)) (vfs.File, error) {
	fs.created.Store(true)
	if fs.db.Err() == nil {
		file, err := create()
		if err == nil {
			return guardedFile{file, fs.db}, nil
		}
		fs.db.Fail(err)
	}
	return vfs.NewMem().Create("lost", vfs.WriteCategoryUnspecified)
}

// OpenDir implements vfs.FS.
func (fs guardedFS) OpenDir(name string) (vfs.File, error) {
	folder, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return guardedFolder{folder, fs}, nil
}

// Unwrap implements vfs.FS.
func (fs guardedFS) Unwrap() vfs.FS { return fs.FS }

// guardedFolder is a folder that Pebble syncs after it has created a log.
type guardedFolder struct {
	vfs.File

	fs guardedFS
}

// Sync implements vfs.File.
func (f guardedFolder) Sync() error {
	err := f.File.Sync()
	if err != nil && f.fs.created.CompareAndSwap(true, false) {
		f.fs.db.Fail(err)
		return nil
	}
	return err
}

// guardedFile is a write-ahead log.
type guardedFile struct {
	vfs.File

	db *DB
}

// Write implements io.Writer.
func (f guardedFile) Write(p []byte) (int, error) {
	_, err := f.File.Write(p)
	f.failIf(err)
	return len(p), nil
}

// Sync implements vfs.File.
func (f guardedFile) Sync() error {
	f.failIf(f.File.Sync())
	return nil
}

// SyncData implements vfs.File.
func (f guardedFile) SyncData() error {
	f.failIf(f.File.SyncData())
	return nil
}

// SyncTo implements vfs.File.
func (f guardedFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	f.failIf(err)
	return fullSync, nil
}

// Close implements io.Closer.
func (f guardedFile) Close() error {
	f.failIf(f.File.Close())
	return nil
}

func (f guardedFile) failIf(err error) {
	if err != nil {
		f.db.Fail(err)
	}
}
