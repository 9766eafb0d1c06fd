package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
)

// ErrNoStore says that the folder holds no event store. Name the right one.
var ErrNoStore = errors.New("there is no event store")

// Folder is the data folder of a store that does not run, open for reading.
// Nothing in it is changed. While it is open, no store can run on it.
type Folder struct {
	db   *pebble.DB
	lock *pebble.Lock
}

// OpenFolder opens cfg.Dir for reading. It returns ErrNoStore when there is
// none, ErrLocked when a store runs on it, and otherwise the errors of Open.
func OpenFolder(cfg Config) (*Folder, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("read event store: %w", err)
	}
	f, err := openFolder(cfg)
	if err != nil {
		return nil, fmt.Errorf("read event store in %s: %w", cfg.Dir, err)
	}
	return f, nil
}

func openFolder(cfg Config) (f *Folder, err error) {
	err = checkFormat(cfg.FS, cfg.FS.PathJoin(cfg.Dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoStore
	}
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(cfg.Dir, cfg.FS)
	if err != nil {
		return nil, err
	}
	logger := &pebbleLogger{log: cfg.Logger, fail: func(error) {}}
	db, err := pebble.Open(cfg.Dir, &pebble.Options{
		FS: cfg.FS, Lock: lock, ReadOnly: true, Logger: logger, EventListener: logger.listener(),
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Folder{db: db, lock: lock}, nil
}

// Close lets go of the folder.
func (f *Folder) Close() error {
	return errors.Join(f.db.Close(), f.lock.Close())
}

// Stat returns counts and positions. Nobody can be subscribed.
func (f *Folder) Stat() (st Stat, err error) {
	c, err := loadCounters(f.db)
	if err != nil {
		return Stat{}, err
	}
	iter, err := newLogIter(f.db, 0)
	if err != nil {
		return Stat{}, err
	}
	defer func() { err = errors.Join(err, iter.Close()) }()
	st = Stat{Events: c.events, Streams: c.streams, DiskBytes: f.db.Metrics().DiskSpaceUsage()}
	if iter.Last() {
		st.Head = positionOf(iter.Key())
	}
	return st, nil
}

// Check verifies the folder, as Store.Check does.
func (f *Folder) Check(ctx context.Context) (Checked, error) { return check(ctx, f.db) }
