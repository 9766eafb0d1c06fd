package embedded

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

	firstPosition = 64 // no event is at 0, which means the start
	rememberedIDs = 100_000
	cachedStates  = 16 << 10
	memTable      = 32 << 20
	// Pebble takes its memtables out of the cache, one that fills, one that is
	// flushed and one to use again: the rest is for blocks. Each append of a new
	// stream asks the filters in them whether there is one of that name.
	blockCache = 3*memTable + 32<<20
)

func (s *Store) open() (err error) {
	if err := s.checkFolder(); err != nil {
		return err
	}
	if usage, err := s.cfg.FS.GetDiskUsage(s.cfg.Dir); err == nil && usage.AvailBytes < leastFree {
		return fmt.Errorf("%w: %d MiB are free, at least %d are needed", ErrFull, usage.AvailBytes>>20, leastFree>>20)
	}
	if s.lock, err = lockFolder(s.cfg.Dir, s.cfg.FS); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.lock.Close())
		}
	}()
	if err := writeFormat(s.cfg.Dir, s.cfg.FS); err != nil {
		return err
	}
	if err := s.openPebble(); err != nil {
		return err
	}
	if err := s.recover(); err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// checkFolder creates the folder when it is missing, and refuses one that this
// version cannot use before anything is written to it.
func (s *Store) checkFolder() error {
	if err := s.cfg.FS.MkdirAll(s.cfg.Dir, folderMode); err != nil {
		return err
	}
	names, err := s.cfg.FS.List(s.cfg.Dir)
	if err != nil {
		return err
	}
	if slices.Contains(names, formatFile) {
		return checkFormat(s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, formatFile))
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
	digits, ok := strings.CutPrefix(strings.TrimSpace(string(text)), strings.TrimSpace(formatPrefix))
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

func (s *Store) openPebble() error {
	cache := pebble.NewCache(blockCache)
	defer cache.Unref()
	// The writer is there before Pebble may call it.
	logger := &pebbleLogger{log: s.log, fail: func(cause error) { s.writer.fail(cause) }}
	opts := &pebble.Options{
		FS: zeroedFS{s.cfg.FS}, Lock: s.lock, Cache: cache, MemTableSize: memTable,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             logger,
		EventListener:      logger.listener(),
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	ledger := &ledger{now: s.cfg.now, states: newStateCache(cachedStates), recent: newRecentIDs(rememberedIDs)}
	s.writer = newWriter(ledger, s.cfg.NoSync, s.publish)
	db, err := pebble.Open(s.cfg.Dir, opts)
	if err != nil {
		return err
	}
	s.db, ledger.db = db, db
	return nil
}

// recover finds the end of the log, or writes its beginning.
func (s *Store) recover() error {
	l := s.writer.ledger
	var err error
	l.counters, err = loadCounters(s.db)
	if errors.Is(err, pebble.ErrNotFound) {
		return s.bootstrap()
	}
	if err != nil {
		return err
	}
	err = l.recall(rememberedIDs)
	if errors.Is(err, ErrCorrupt) && l.next > 0 {
		// Whoever reads the record is told; all the others can be served.
		s.log.LogAttrs(context.Background(), slog.LevelError,
			"a recent event is unreadable, run check and restore a backup", slog.String("error", err.Error()))
	} else if err != nil {
		return err
	}
	s.tail = newTail(l.head)
	s.counters.Store(&l.counters)
	return nil
}

// recall finds the end of the log and remembers the ids of its last events, up
// to one that is corrupt.
func (l *ledger) recall(limit int) (err error) {
	iter, err := newLogIter(l.db, 0)
	if err != nil {
		return err
	}
	var newest []*record
	oldest := endOfLog // position of the last one read
	defer func() {
		if failed := iter.Close(); failed != nil {
			err = unreadable("before", oldest, failed)
		}
		for _, rec := range slices.Backward(newest) {
			l.recent.add(rec)
		}
	}()
	for ok := iter.Last(); ok && len(newest) < limit; ok = iter.Prev() {
		pos := positionOf(iter.Key())
		value, err := iter.ValueAndErr()
		if err != nil {
			return unreadable("at", pos, err)
		}
		if len(newest) == 0 {
			l.head, l.next = pos, pos+uint64(eventKeySize+len(value))
		}
		rec, err := decodeRecord(pos, value)
		if err != nil {
			return err
		}
		rec.meta, rec.data = nil, nil // they belong to the iterator
		newest, oldest = append(newest, rec), pos
	}
	if l.next == 0 && iter.Error() == nil {
		return fmt.Errorf("%w: counters without events", ErrCorrupt)
	}
	return nil
}
