package storage

import (
	"context"
	"errors"
	"fmt"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/storecheck"
)

// Folder is the data folder of a store that does not run, open for reading.
// Nothing in it is changed. While it is open, no store can run on it.
type Folder struct{ db *disk.DB }

// OpenFolder opens cfg.Dir for reading. It returns ErrNoStore when there is
// none, ErrLocked when a store runs on it, and otherwise the errors of Open.
func OpenFolder(cfg Config) (*Folder, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("read event store: %w", err)
	}
	db, err := disk.OpenReadOnly(cfg.Dir, cfg.FS, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("read event store in %s: %w", cfg.Dir, err)
	}
	return &Folder{db: db}, nil
}

// Close lets go of the folder.
func (f *Folder) Close() error { return f.db.Close() }

// Stat returns counts and positions.
func (f *Folder) Stat() (st Stat, err error) {
	c, err := record.LoadCounters(f.db)
	if err != nil {
		return Stat{}, err
	}
	iter, err := record.NewIter(f.db, 0)
	if err != nil {
		return Stat{}, err
	}
	defer func() { err = errors.Join(err, iter.Close()) }()
	st = Stat{Events: c.Events, Streams: c.Streams, DiskBytes: f.db.Metrics().DiskSpaceUsage()}
	if iter.Last() {
		st.Head = record.PositionOf(iter.Key())
	}
	return st, nil
}

// Check verifies the folder, as Store.Check does.
func (f *Folder) Check(ctx context.Context) (storecheck.Report, error) {
	return storecheck.Run(ctx, f.db)
}
