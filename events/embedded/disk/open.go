// Package disk opens the Pebble database in the data folder of an event store.
// It marks the folder with its format, locks it, and copies it for backups.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	// ErrLocked says that the folder is open already, in this process or in
	// another one. Stop the other one first.
	ErrLocked = errors.New("the data folder is already open")
	// ErrFormat says that the folder was written by a newer version. Use that.
	ErrFormat = errors.New("the data folder has a newer format")
	// ErrForeign says that the folder holds files that are no event store.
	// Choose another folder.
	ErrForeign = errors.New("the folder is not empty and holds no event store")
	// ErrNoStore says that the folder holds no event store. Name the right one.
	ErrNoStore = errors.New("there is no event store")
	// ErrFull says that the disk has too little room to begin. Make some.
	ErrFull = errors.New("the disk is full")
)

const (
	formatVersion = 1
	formatFile    = "FORMAT"
	formatDraft   = "FORMAT.new"
	formatPrefix  = "linkledger events "
	folderMode    = 0o700        // events are for nobody else on the machine
	leastFree     = 2 * memTable // Pebble allots a log of that size at once

	memTable = 32 << 20
	// Pebble takes its memtables out of the cache, one that fills, one that is
	// flushed and one to use again: the rest is for blocks. Each append of a new
	// stream asks the filters in them whether there is one of that name.
	blockCache = 3*memTable + 32<<20
)

// ErrFailed is wrapped by every refusal after a commit could not be synced.
// What was acknowledged before is safe; close the store, mend the disk, open it
// again.
var ErrFailed = errors.New("event store accepts no writes: a commit failed")

// DB is an open Pebble database, and why it accepts no writes if it does not.
type DB struct {
	*pebble.DB

	fsys    vfs.FS
	lock    *pebble.Lock
	failed  chan struct{} // closed after a failed commit
	failure atomic.Pointer[error]
}

// Fail refuses all further writes. Only the first cause is kept.
func (d *DB) Fail(cause error) {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	if d.failure.CompareAndSwap(nil, &err) {
		close(d.failed)
	}
}

// Err is the reason why the database accepts no writes, or nil.
func (d *DB) Err() error {
	if err := d.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Failed is closed after a failed commit.
func (d *DB) Failed() <-chan struct{} { return d.failed }

// Close closes the database and lets go of the folder.
func (d *DB) Close() error {
	return errors.Join(d.DB.Close(), d.lock.Close())
}

// Open opens the database in a folder, or creates both. It returns
// ErrLocked, ErrFormat, ErrForeign or ErrFull; in these cases nothing in the
// folder is changed.
func Open(dir string, fsys vfs.FS, log *slog.Logger) (d *DB, err error) {
	if err := checkFolder(dir, fsys); err != nil {
		return nil, err
	}
	if usage, err := fsys.GetDiskUsage(dir); err == nil && usage.AvailBytes < leastFree {
		return nil, fmt.Errorf(
			"%w: %d MiB are free, at least %d are needed", ErrFull, usage.AvailBytes>>20,
			leastFree>>20,
		)
	}
	lock, err := lockFolder(dir, fsys)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := writeFormat(dir, fsys); err != nil {
		return nil, err
	}
	cache := pebble.NewCache(blockCache)
	defer cache.Unref()
	d = &DB{fsys: fsys, lock: lock, failed: make(chan struct{})}
	logger := &pebbleLogger{log: log, fail: d.Fail}
	opts := &pebble.Options{
		FS: zeroedFS{fsys}, Lock: lock, Cache: cache, MemTableSize: memTable,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             logger,
		EventListener:      logger.listener(),
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	if d.DB, err = pebble.Open(dir, opts); err != nil {
		return nil, err
	}
	return d, nil
}

// OpenReadOnly opens the database in a folder for reading. Nothing in the
// folder is changed. It returns ErrNoStore when there is none.
func OpenReadOnly(dir string, fsys vfs.FS, log *slog.Logger) (*DB, error) {
	err := checkFormat(fsys, fsys.PathJoin(dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoStore
	}
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(dir, fsys)
	if err != nil {
		return nil, err
	}
	logger := &pebbleLogger{log: log, fail: func(error) {}}
	db, err := pebble.Open(dir, &pebble.Options{
		FS: fsys, Lock: lock, ReadOnly: true, Logger: logger, EventListener: logger.listener(),
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &DB{DB: db, fsys: fsys, lock: lock, failed: make(chan struct{})}, nil
}

// checkFolder creates the folder when it is missing, and refuses one that this
// version cannot use before anything is written to it.
func checkFolder(dir string, fsys vfs.FS) error {
	if err := fsys.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	if slices.Contains(names, formatFile) {
		return checkFormat(fsys, fsys.PathJoin(dir, formatFile))
	}
	for _, name := range names {
		// These are left when the creation was cut short.
		if name != "LOCK" && name != formatDraft && name != "lost+found" {
			return ErrForeign
		}
	}
	return nil
}

func checkFormat(fsys vfs.FS, path string) error {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil {
		return err
	}
	digits, ok := strings.CutPrefix(
		strings.TrimSpace(string(text)), strings.TrimSpace(formatPrefix),
	)
	version, err := strconv.Atoi(strings.TrimSpace(digits))
	if !ok || err != nil || version < 1 {
		return fmt.Errorf("%w: unreadable %s file", ErrForeign, formatFile)
	}
	if version > formatVersion {
		return fmt.Errorf("%w: %d, this version reads up to %d", ErrFormat, version, formatVersion)
	}
	return nil
}

func lockFolder(dir string, fsys vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fsys)
	if err == nil {
		return lock, nil
	}
	// A lock file that cannot be opened comes as a path error; whatever else
	// the lock fails with is a lock held by somebody.
	var path *fs.PathError
	if errors.As(err, &path) {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", ErrLocked, err)
}

// writeFormat marks a new folder. The mark is complete or absent, whenever the
// machine stops.
func writeFormat(dir string, fsys vfs.FS) error {
	path := fsys.PathJoin(dir, formatFile)
	if _, err := fsys.Stat(path); err == nil {
		return nil
	}
	draft := fsys.PathJoin(dir, formatDraft)
	f, err := fsys.Create(draft, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(formatPrefix + strconv.Itoa(formatVersion) + "\n"))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(draft, path); err != nil {
		return err
	}
	return syncFolder(fsys, dir)
}

// syncFolder makes the names in a folder durable.
func syncFolder(fsys vfs.FS, dir string) error {
	folder, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
