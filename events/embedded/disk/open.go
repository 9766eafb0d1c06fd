// Package disk opens the Pebble database in the data folder of an event store. It marks the folder
// with its format, locks it and copies it for backups.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/condition"
	"linkledger/events/embedded/backup"
)

var (
	// ErrLocked is returned if the folder is already open, in this process or in another one. The
	// remedy is to stop the other process.
	ErrLocked = errors.New("the data folder is already open")
	// ErrFormat is returned if a newer version has written the folder. The remedy is to use that
	// version.
	ErrFormat = errors.New("the data folder has a newer format")
	// ErrForeign is returned if the folder holds files that are no event store. The remedy is to
	// choose another folder.
	ErrForeign = errors.New("the folder is not empty and holds no event store")
	// ErrNoStore is returned if the folder holds no event store. The remedy is to choose the right
	// folder.
	ErrNoStore = errors.New("there is no event store")
	// ErrFull is returned if the disk has too little free space to open the store or to accept
	// writes. The remedy is to free some space.
	ErrFull = errors.New("the disk is full")
)

const (
	// MemTableBytes is the size of a memtable, and of the log that Pebble allocates for it.
	MemTableBytes = 16 << 20
	// MinFreeBytes is the free space that Open demands for a store that exists, because Pebble
	// allocates a log when it opens.
	MinFreeBytes = 2 * MemTableBytes

	formatVersion  = 1
	formatFile     = backup.FormatFile
	formatTempFile = "FORMAT.new"
	formatPrefix   = "linkledger events "
	folderMode     = 0o700 // other users of the machine must not read events

	// blockCache is the size of Pebble's cache. Pebble reserves its memtables in it: one being
	// filled, one being flushed and one to be reused. The rest is for blocks. Each append to a new
	// stream looks up the stream's name in the filters of these blocks.
	blockCache = 3*MemTableBytes + 32<<20
)

// l0Tables is how many memtables are flushed before the flushed tables are compacted. It is twice
// Pebble's default, so compactions are rarer. Memtables of twice the size would have the same
// effect, but would take 48 MB more memory.
const l0Tables = 8

// ErrFailed is wrapped by every refusal of a write after a commit has failed. Events that were
// acknowledged before the failure are safe. The remedy is to close the store and, once Probe
// succeeds, to open it again.
var ErrFailed = errors.New("event store accepts no writes: a commit failed")

// DB is an open Pebble database. After a failed commit it also has the reason why it accepts no
// writes.
type DB struct {
	*pebble.DB

	dir   string
	fsys  vfs.FS
	spare uint64 // bytes that writes leave free for other users of the disk
	log   *slog.Logger
	lock  *pebble.Lock
	full  *condition.Log

	space  sync.Mutex
	looked time.Time // when the free space was last checked
	lacks  error     // result of that check; nil: there is enough space

	failed  chan struct{} // closed after a failed commit
	failure atomic.Pointer[error]
}

// Fail makes the database refuse all further writes. Only the first cause is kept.
func (d *DB) Fail(cause error) {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	if d.failure.CompareAndSwap(nil, &err) {
		d.log.LogAttrs(
			context.Background(), slog.LevelError, "the event store accepts no writes",
			slog.Any("error", err),
		)
		close(d.failed)
	}
}

// Err returns the reason why the database accepts no writes, or nil if Fail was not called.
func (d *DB) Err() error {
	if err := d.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Failed returns a channel that is closed after a failed commit.
func (d *DB) Failed() <-chan struct{} { return d.failed }

// Close closes the database and unlocks the folder.
func (d *DB) Close() error {
	return errors.Join(d.DB.Close(), d.lock.Close())
}

// Open opens the database in a folder, or creates both. Writes leave spare bytes of the disk, in
// addition to ReserveBytes, free for other users of the disk. Open may return ErrLocked, ErrFormat,
// ErrForeign or ErrFull. In these cases nothing in the folder is changed.
func Open(dir string, fsys vfs.FS, spare uint64, log *slog.Logger) (d *DB, err error) {
	exists, err := checkFolder(dir, fsys)
	if err != nil {
		return nil, err
	}
	needed := ReserveBytes + spare // a new store writes its first events
	if exists {
		needed = MinFreeBytes
	}
	if err := checkFree(fsys, dir, needed); err != nil {
		return nil, err
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
	if err := adoptBackup(dir, fsys); err != nil {
		return nil, err
	}
	if err := fsys.RemoveAll(fsys.PathJoin(dir, frozenFolder)); err != nil {
		return nil, err
	}
	if err := writeFormat(dir, fsys); err != nil {
		return nil, err
	}
	cache := pebble.NewCache(blockCache)
	defer cache.Unref()
	d = newDB(dir, fsys, lock, log)
	d.spare = spare
	logger := newPebbleLogger(log, d.Fail)
	opts := &pebble.Options{
		FS: newGuardedFS(newZeroedFS(fsys), d), Lock: lock, Cache: cache,
		MemTableSize:          MemTableBytes,
		L0CompactionThreshold: l0Tables, L0StopWritesThreshold: 3 * l0Tables,
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
	if err := d.Err(); err != nil {
		return nil, errors.Join(err, d.DB.Close())
	}
	return d, nil
}

// OpenReadOnly opens the database in a folder for reading. It changes nothing in the folder. It
// returns ErrNoStore if there is no database.
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
	if err := checkBackup(dir, fsys); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d := newDB(dir, fsys, lock, log)
	logger := newPebbleLogger(log, d.Fail)
	d.DB, err = pebble.Open(dir, &pebble.Options{
		FS: fsys, Lock: lock, ReadOnly: true, Logger: logger, EventListener: logger.listener(),
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// newDB returns a DB whose Pebble database is not open yet.
func newDB(dir string, fsys vfs.FS, lock *pebble.Lock, log *slog.Logger) *DB {
	return &DB{
		dir: dir, fsys: fsys, log: log, lock: lock, failed: make(chan struct{}),
		full: condition.New(
			log, "the event store accepts no writes: its disk is full",
			"the disk of the event store has space again, and writes are accepted",
		),
	}
}

// checkFolder creates the folder if it is missing, and reports whether it holds a store. It returns
// an error, and writes nothing, if this version cannot use the folder.
func checkFolder(dir string, fsys vfs.FS) (exists bool, err error) {
	if err := makeFolder(dir, fsys); err != nil {
		return false, err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return false, err
	}
	if slices.Contains(names, formatFile) {
		return true, checkFormat(fsys, fsys.PathJoin(dir, formatFile))
	}
	for _, name := range names {
		// A folder without a store may have these files. An interrupted creation leaves the first
		// two.
		if name != "LOCK" && name != formatTempFile && name != "lost+found" {
			return false, ErrForeign
		}
	}
	return false, nil
}

// makeFolder creates the folder if it is missing. It does not create the parents of the folder,
// because it MUST NOT fill the mount point of a disk that is not mounted.
func makeFolder(dir string, fsys vfs.FS) error {
	parent := fsys.PathDir(fsys.PathJoin(dir))
	if _, err := fsys.Stat(parent); errors.Is(err, fs.ErrNotExist) && parent != "." {
		return fmt.Errorf(
			"the folder %s does not exist: is its disk mounted? If it is, make the folder", parent,
		)
	}
	return fsys.MkdirAll(dir, folderMode)
}

func checkFormat(fsys vfs.FS, path string) error {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	text, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil {
		return err
	}
	if string(text) == backup.FormatText {
		return nil
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
	// If the lock file cannot be opened, the error is a path error. All other errors mean that the
	// folder is already locked.
	var path *fs.PathError
	if errors.As(err, &path) {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", ErrLocked, err)
}

// writeFormat writes the format file, unless the folder has one. The file is complete or absent
// even if the machine stops meanwhile.
func writeFormat(dir string, fsys vfs.FS) error {
	path := fsys.PathJoin(dir, formatFile)
	if _, err := fsys.Stat(path); err == nil {
		return nil
	}
	return replaceFormat(dir, fsys)
}

// replaceFormat writes the format file and replaces an existing one.
func replaceFormat(dir string, fsys vfs.FS) error {
	path, draft := fsys.PathJoin(dir, formatFile), fsys.PathJoin(dir, formatTempFile)
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

// syncFolder makes the directory entries of a folder durable.
func syncFolder(fsys vfs.FS, dir string) error {
	folder, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
