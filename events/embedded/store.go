package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/reads"
	"linkledger/events/embedded/storage"
	"linkledger/events/embedded/storecheck"
	"linkledger/events/embedded/writes"
)

// LargestAppendSize is the upper bound of Config.MaxAppendSize in bytes. It is about half of
// maxMessage.
const LargestAppendSize = 8 << 20

// ErrClosed is returned by a store that is closing or closed.
var ErrClosed = groupcommit.ErrClosed

const (
	defaultMaxAppendSize = 1 << 20
	stopTimeout          = 5 * time.Second
)

// Config of a store.
type Config struct {
	// Dir is the data folder. It is created if it is missing.
	Dir string
	// MaxAppendSize is the maximum size of one append in bytes. The data, the metadata and twice
	// the length of the type of each event count. 0 means 1 MiB. The maximum is 8 MiB.
	MaxAppendSize int
	// NoSync acknowledges events before they are synced, so a crash may lose them. It MUST NOT be
	// set outside benchmarks.
	NoSync bool
	// FS is the file system of the folder. Nil means the disk.
	FS vfs.FS
	// Spare is how many bytes of the disk, in addition to disk.ReserveBytes, writes leave free for
	// other users of the disk.
	Spare uint64
	// TLS configures the connections. Nil means clear text.
	TLS *tls.Config
	// User and Password are required of every client if they are set. They need TLS, because
	// official clients send credentials over TLS only.
	User, Password string
	// Dialect determines the responses to malformed requests. Nil means the store's own responses.
	Dialect dialect.Dialect
	// Logger receives warnings and errors of background work. Nil discards them.
	Logger *slog.Logger

	// Now returns the current time. It is the creation time of new events, and decides which events
	// are too old to be read. Nil means time.Now.
	Now func() time.Time
	// RecentEvents is how many events are kept in memory for subscriptions. 0 means 4096.
	RecentEvents int
}

// Store is an open event store. Its methods may be called concurrently.
type Store struct {
	cfg      Config
	storage  *storage.Store
	instance uuid.UUID
	writes   *writes.Service
	reads    *reads.Service

	stopping context.Context //nolint:containedctx // done as soon as Close is called
	cancel   context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	servers map[*grpc.Server]struct{}
	serving sync.WaitGroup

	closing  sync.Once
	closeErr error
}

// Stat describes a store at one moment.
type Stat struct {
	storage.Stat

	Subscriptions int // open subscriptions
}

// Open opens the store in cfg.Dir, or creates one. It returns disk.ErrLocked if the folder is
// already open, disk.ErrFormat if a newer version has written it, disk.ErrForeign if it holds other
// files, and disk.ErrFull if the disk has too little free space. In these cases nothing in the
// folder is changed.
func Open(cfg Config) (*Store, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("open event store: %w", err)
	}
	log, err := storage.Open(storage.Config{
		Dir: cfg.Dir, NoSync: cfg.NoSync, FS: cfg.FS, Spare: cfg.Spare, Logger: cfg.Logger,
		Now: cfg.Now, RecentEvents: cfg.RecentEvents,
	})
	if err != nil {
		return nil, err
	}
	s := &Store{
		cfg: cfg, storage: log, instance: uuid.New(), servers: map[*grpc.Server]struct{}{},
	}
	s.stopping, s.cancel = context.WithCancelCause(context.Background())
	failures := failure.Reporter{Dialect: cfg.Dialect, Closing: s.stopping.Done()}
	s.writes = &writes.Service{
		Writer: log.Writer(), MaxAppendSize: cfg.MaxAppendSize, Failures: failures,
		Now: cfg.Now, Closing: s.stopping,
	}
	s.reads = &reads.Service{
		Log: log.Log(), Dialect: cfg.Dialect, Failures: failures, Now: cfg.Now,
		Closing: s.stopping,
	}
	return s, nil
}

// complete validates the fields and sets the defaults.
func (c *Config) complete() error {
	if c.MaxAppendSize == 0 {
		c.MaxAppendSize = defaultMaxAppendSize
	}
	if c.MaxAppendSize < 0 || c.MaxAppendSize > LargestAppendSize {
		return fmt.Errorf("MaxAppendSize must be between 1 and %d bytes", LargestAppendSize)
	}
	if c.User != "" && c.TLS == nil {
		return errors.New("a user and password need TLS")
	}
	if c.User == "" && c.Password != "" || strings.Contains(c.User, ":") {
		return errors.New("a password needs a user name, and a user name must not contain a colon")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

// Serve serves clients on ln until Close, and then returns nil. Gossip advertises the address of
// ln. Serve closes ln. It may be called for several listeners. It returns ErrClosed if it is called
// after Close.
func (s *Store) Serve(ln net.Listener) error { return s.serve(ln, true) }

// Dialer returns a function that connects to the store through memory. The store serves these
// connections until Close. They need neither TLS nor credentials, because only the callers of this
// function can connect.
func (s *Store) Dialer() func(context.Context) (net.Conn, error) {
	memory := bufconn.Listen(memoryBuffer)
	go func() { _ = s.serve(memory, false) }() // it returns only after Close
	return memory.DialContext
}

func (s *Store) serve(ln net.Listener, secure bool) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.Join(ErrClosed, ln.Close())
	}
	server := s.newServer(ln.Addr(), secure)
	s.servers[server] = struct{}{}
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	err := server.Serve(ln)
	if err == nil || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	server.Stop()
	return fmt.Errorf("serve event store: %w", err)
}

// Close stops accepting connections, finishes the group of writes in flight, ends subscriptions
// with Unavailable, waits up to five seconds for other calls and closes the folder. A second call
// returns the same result.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(ErrClosed)
	s.storage.Stop()
	s.stopServers()
	s.serving.Wait()
	return s.storage.Close()
}

// stopServers lets running calls finish for stopTimeout, then cuts them off. No handler runs when
// it returns.
func (s *Store) stopServers() {
	var stopping sync.WaitGroup
	for server := range s.servers {
		stopping.Go(func() {
			timer := time.AfterFunc(stopTimeout, server.Stop)
			defer timer.Stop()
			server.GracefulStop()
		})
	}
	stopping.Wait()
}

// Failed returns a channel that is closed when a commit has failed. Events that were acknowledged
// before are safe and can be read. The store accepts no more writes until it is closed and opened
// again. disk.Probe finds out whether the disk works again.
func (s *Store) Failed() <-chan struct{} { return s.storage.Failed() }

// Stat returns counts and positions. After Close it returns the last counts and positions, without
// the size on disk.
func (s *Store) Stat() Stat {
	return Stat{s.storage.Stat(), s.reads.Subscriptions()}
}

// Check verifies every record, every entry of the index, every stream's state and the counters
// against each other. It reads a snapshot, so the store continues to serve. It returns an error
// only if it could not complete.
func (s *Store) Check(ctx context.Context) (storecheck.Report, error) {
	return s.storage.Check(ctx)
}

// Freeze makes a folder from which a backup can be made while the store continues to serve. The
// folder has every event that was acknowledged before the call. name is the path of the folder
// within the data folder. The caller MUST call release, which removes the folder.
func (s *Store) Freeze() (name string, release func() error, err error) {
	return s.storage.Freeze()
}
