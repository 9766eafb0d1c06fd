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

// LargestAppendSize is the most that Config.MaxAppendSize may be, in bytes:
// half of what one message may have.
const LargestAppendSize = 8 << 20

// ErrClosed is returned by a store that is closing or closed.
var ErrClosed = groupcommit.ErrClosed

const (
	defaultMaxAppendSize = 1 << 20
	stopTimeout          = 5 * time.Second
)

// Config of a store.
type Config struct {
	// Dir is the data folder. It is created when missing.
	Dir string
	// MaxAppendSize bounds one append in bytes: data, metadata and twice the
	// length of the type of each event. 0 means 1 MiB; at most 8 MiB.
	MaxAppendSize int
	// NoSync acknowledges events that a crash may lose. For benchmarks only.
	NoSync bool
	// FS holds the folder; nil means the disk.
	FS vfs.FS
	// TLS protects the connections; nil serves clear text.
	TLS *tls.Config
	// User and Password, when set, are demanded of every client. They need TLS:
	// official clients send credentials over TLS only.
	User, Password string
	// Answers are Own, but for tests of clients.
	Answers dialect.Dialect
	// Logger is told of what happens in the background; nil discards.
	Logger *slog.Logger

	now func() time.Time // tests age events with it
	// that are kept in memory, where tests want few; 0: as storage has it
	recentEvents int
}

// Store is an open event store. All methods may be called at the same time.
type Store struct {
	cfg      Config
	storage  *storage.Store
	instance uuid.UUID
	writes   *writes.Service
	reads    *reads.Service

	ending context.Context // done as soon as Close is called
	end    context.CancelCauseFunc

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

// Open opens the store in cfg.Dir, or creates one. It returns ErrLocked when
// the folder is open already, ErrFormat when it was written by a newer version,
// ErrForeign when it holds something else; in these cases nothing in the folder
// is changed.
func Open(cfg Config) (*Store, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("open event store: %w", err)
	}
	storage, err := storage.Open(storage.Config{
		Dir: cfg.Dir, NoSync: cfg.NoSync, FS: cfg.FS, Logger: cfg.Logger, Now: cfg.now,
		RecentEvents: cfg.recentEvents,
	})
	if err != nil {
		return nil, err
	}
	s := &Store{
		cfg: cfg, storage: storage, instance: uuid.New(), servers: map[*grpc.Server]struct{}{},
	}
	s.ending, s.end = context.WithCancelCause(context.Background())
	failures := failure.Reporter{Answers: cfg.Answers, Closing: s.ending.Done()}
	s.writes = &writes.Service{
		Writer: storage.Writer(), MaxAppendSize: cfg.MaxAppendSize, Failures: failures,
		Now: cfg.now, Closing: s.ending,
	}
	s.reads = &reads.Service{
		Log: storage.Log(), Answers: cfg.Answers, Failures: failures, Now: cfg.now,
		Closing: s.ending,
	}
	return s, nil
}

// complete checks what was given and fills in what was not.
func (c *Config) complete() error {
	if c.MaxAppendSize == 0 {
		c.MaxAppendSize = defaultMaxAppendSize
	}
	if c.MaxAppendSize < 0 || c.MaxAppendSize > LargestAppendSize {
		return fmt.Errorf("MaxAppendSize must be between 1 and %d bytes", LargestAppendSize)
	}
	switch c.Answers {
	case dialect.Own, dialect.V2310, dialect.V2410:
	default:
		return fmt.Errorf("unknown server in Answers: %q", c.Answers)
	}
	if c.User != "" && c.TLS == nil {
		return errors.New("a user and password need TLS")
	}
	if c.User == "" && c.Password != "" || strings.Contains(c.User, ":") {
		return errors.New("a password needs a user, whose name has no colon")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	return nil
}

// Serve answers clients on ln until Close, and then returns nil. Gossip
// advertises the address of ln. Serve closes ln. It may be called for several
// listeners; after Close it returns ErrClosed.
func (s *Store) Serve(ln net.Listener) error { return s.serve(ln, true) }

// Dialer serves this process through memory, until Close, and returns what
// connects to it. Nothing else can, so it needs neither TLS nor credentials.
func (s *Store) Dialer() func(context.Context) (net.Conn, error) {
	memory := bufconn.Listen(memoryBuffer)
	go func() { _ = s.serve(memory, false) }() // it accepts until it is stopped
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

// Close stops accepting, finishes the group of writes in flight, ends
// subscriptions with Unavailable, waits up to five seconds for other calls and
// closes the folder. Closing again returns the same result.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(ErrClosed)
	s.storage.Stop()
	s.stopServers()
	s.serving.Wait()
	return s.storage.Close()
}

// stopServers returns when no handler is running any more.
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

// Stat returns counts and positions. After Close it still returns the last
// ones, without the size on disk.
func (s *Store) Stat() Stat {
	return Stat{s.storage.Stat(), s.reads.Subscriptions()}
}

// Check verifies every record, every entry of the index, every stream's state
// and the counters against each other, as they are at one moment, while the
// store goes on serving. It returns an error only when it could not go on.
func (s *Store) Check(
	ctx context.Context,
) (storecheck.Report, error) {
	return s.storage.Check(ctx)
}

// Backup copies the store to dir while it goes on serving. The copy holds every
// event that was acknowledged before the call, and is itself a data folder. It
// appears under its name when it is complete. On the same disk it shares the
// files that never change, so it takes little time and space, and protects from
// mistakes but not from the loss of the disk.
func (s *Store) Backup(dir string) error { return s.storage.Backup(dir) }
