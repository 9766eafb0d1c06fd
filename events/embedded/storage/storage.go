// Package storage opens, recovers, checks, backs up and closes the log of an event store on disk.
// It gives access to the writer and the readers of the log.
package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/durable"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/storecheck"
)

// Config of a storage.
type Config struct {
	// Dir is the data folder. It is created if it is missing.
	Dir string
	// NoSync acknowledges events before they are synced, so a crash may lose them. It MUST NOT be
	// set outside benchmarks.
	NoSync bool
	// FS is the file system of the folder. Nil means the disk.
	FS vfs.FS
	// Spare is how many bytes of the disk, in addition to disk.ReserveBytes, writes leave free for
	// other users of the disk.
	Spare uint64
	// Logger receives warnings and errors of background work. Nil discards them.
	Logger *slog.Logger
	// Now returns the creation time of events. Nil means time.Now.
	Now func() time.Time
	// RecentEvents is how many events are kept in memory for subscriptions. 0 means 4096.
	RecentEvents int
}

// Store is an open log. Its methods may be called concurrently.
type Store struct {
	cfg    Config
	db     *disk.DB
	writer *groupcommit.Writer
	log    *durable.Log

	counters atomic.Pointer[record.Counters]

	stopping context.Context //nolint:containedctx // done as soon as Stop is called
	cancel   context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	using  sync.WaitGroup // calls that keep the folder open; see use

	stop, closing sync.Once
	closeErr      error
}

// Stat describes a log at one moment.
type Stat struct {
	Events    uint64 // events in the log, including system events
	Streams   uint64 // streams that ever held an event, including metadata streams
	Head      uint64 // position of the last event
	DiskBytes uint64 // size of the data folder
	Failure   error  // why no writes are accepted (wraps disk.ErrFull or disk.ErrFailed), or nil
}

// Open opens the log in cfg.Dir, or creates one. It may return the errors of disk.Open.
func Open(cfg Config) (*Store, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("open event store: %w", err)
	}
	s := &Store{cfg: cfg}
	s.stopping, s.cancel = context.WithCancelCause(context.Background())
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open event store in %s: %w", cfg.Dir, err)
	}
	s.writer.Start()
	return s, nil
}

// complete validates the fields and sets the defaults.
func (c *Config) complete() error {
	if c.Dir == "" {
		return errors.New("no data folder given")
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

func (s *Store) open() (err error) {
	if s.db, err = disk.Open(
		s.cfg.Dir, s.cfg.FS, s.cfg.Spare, s.cfg.Logger,
	); err != nil {
		return err
	}
	if err := s.recover(); err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// recover finds the end of the log, or writes the first events of a new one.
func (s *Store) recover() error {
	l := ledger.New(s.db.DB, s.cfg.Now)
	exists, err := l.Recover(s.cfg.Logger)
	if err != nil {
		return err
	}
	s.log = durable.New(s.db, l.Position(), s.cfg.RecentEvents)
	s.writer = groupcommit.New(s.db, l, s.cfg.NoSync, s.publish)
	if !exists {
		return s.writer.Run((*ledger.Ledger).Bootstrap)
	}
	totals := l.Totals()
	s.counters.Store(&totals)
	return nil
}

// publish is called by the writer with events that have become durable.
func (s *Store) publish(events []*record.Event, c record.Counters) {
	s.counters.Store(&c)
	s.log.Publish(events)
}

// Writer returns the writer of the log.
func (s *Store) Writer() *groupcommit.Writer { return s.writer }

// Failed returns a channel that is closed when a commit has failed. The store then accepts no more
// writes until it is closed and opened again.
func (s *Store) Failed() <-chan struct{} { return s.db.Failed() }

// Log returns the durable part of the log.
func (s *Store) Log() *durable.Log { return s.log }

// Stop finishes the group of writes in flight and refuses all later ones with ErrClosed. The log
// can still be read.
func (s *Store) Stop() {
	s.stop.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.cancel(groupcommit.ErrClosed)
		s.writer.Stop()
	})
}

// Close stops the writer, waits for Check and Freeze and closes the folder. The log MUST NOT be
// read afterwards. A second call returns the same result.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.Stop()
	s.using.Wait()
	s.mu.Lock() // Stat may be reading
	defer s.mu.Unlock()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close event store: %w", err)
	}
	return nil
}

// Stat returns counts and positions. After Stop it returns the last counts and positions, without
// the size on disk.
func (s *Store) Stat() Stat {
	c := s.counters.Load()
	st := Stat{
		Events: c.Events, Streams: c.Streams, Head: s.log.Head(), Failure: s.writer.Refusal(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		st.DiskBytes = s.db.Metrics().DiskSpaceUsage()
	}
	return st
}

// Check verifies a snapshot of the log. Writes continue meanwhile.
func (s *Store) Check(ctx context.Context) (storecheck.Report, error) {
	done, err := s.use()
	if err != nil {
		return storecheck.Report{}, err
	}
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.stopping, func() { cancel(groupcommit.ErrClosed) })()
	snapshot := s.db.NewSnapshot()
	checked, err := storecheck.Run(ctx, snapshot)
	return checked, errors.Join(err, snapshot.Close())
}

// Freeze makes a folder with the current state of the log, as disk.DB.Freeze does. name is the path
// of the folder within the data folder. Writes continue meanwhile. The caller MUST call release,
// which removes the folder.
func (s *Store) Freeze() (name string, release func() error, err error) {
	done, err := s.use()
	if err != nil {
		return "", nil, err
	}
	defer done()
	if name, err = s.db.Freeze(); err != nil {
		return "", nil, fmt.Errorf("begin a backup: %w", err)
	}
	return name, func() error { return s.db.Release(name) }, nil
}

// use keeps the folder open until done is called. It returns ErrClosed after Stop.
func (s *Store) use() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, groupcommit.ErrClosed
	}
	s.using.Add(1)
	return s.using.Done, nil
}
