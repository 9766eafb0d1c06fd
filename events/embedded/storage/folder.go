package storage

import (
	"context"
	"errors"
	"fmt"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/storecheck"
)

// Folder reads the data folder of a store that is not open. It changes nothing in the folder. Until
// Close, no store can open the folder.
type Folder struct{ db *disk.DB }

// OpenFolder opens cfg.Dir for reading. It returns disk.ErrNoStore if there is no store and
// disk.ErrLocked if the folder is already open. It may also return disk.ErrFormat and
// disk.ErrForeign.
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

// Close closes and unlocks the folder.
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

// Log returns the id of the log, which is the id of its first event. No other log has this id.
func (f *Folder) Log() (string, error) {
	first, err := record.LoadEvent(f.db, record.FirstPosition)
	if err != nil {
		return "", err
	}
	return first.ID.String(), nil
}

// Check verifies the folder, as Store.Check does.
func (f *Folder) Check(ctx context.Context) (storecheck.Report, error) {
	return storecheck.Run(ctx, f.db)
}
