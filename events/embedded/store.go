package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

// LargestAppendSize is the most that Config.MaxAppendSize may be, in bytes:
// half of what one message may have.
const LargestAppendSize = 8 << 20

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
	// Answers are AnswersOwn, but for tests of clients.
	Answers Answers
	// Logger is told of what happens in the background; nil discards.
	Logger *slog.Logger

	now func() time.Time // tests age events with it
}

// Store is an open event store. All methods may be called at the same time.
type Store struct {
	cfg      Config
	log      *slog.Logger
	db       *pebble.DB
	lock     *pebble.Lock
	instance uuid.UUID
	writer   *writer
	tail     *tail

	counters      atomic.Pointer[counters]
	subscriptions atomic.Int64

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
	Events        uint64 // events in the log, those of the system included
	Streams       uint64 // streams that ever held an event, metadata streams included
	Head          uint64 // position of the last event
	Subscriptions int    // open subscriptions
	DiskBytes     uint64 // size of the data folder
	Failure       error  // why no writes are accepted (wraps ErrFailed), or nil
}

// Open opens the store in cfg.Dir, or creates one. It returns ErrLocked when
// the folder is open already, ErrFormat when it was written by a newer version,
// ErrForeign when it holds something else; in these cases nothing in the folder
// is changed.
func Open(cfg Config) (*Store, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("open event store: %w", err)
	}
	s := &Store{cfg: cfg, log: cfg.Logger, instance: uuid.New(), servers: map[*grpc.Server]struct{}{}}
	s.ending, s.end = context.WithCancelCause(context.Background())
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open event store in %s: %w", cfg.Dir, err)
	}
	s.writer.start()
	return s, nil
}

// complete checks what was given and fills in what was not.
func (c *Config) complete() error {
	if c.Dir == "" {
		return errors.New("no data folder given")
	}
	if c.MaxAppendSize == 0 {
		c.MaxAppendSize = defaultMaxAppendSize
	}
	if c.MaxAppendSize < 0 || c.MaxAppendSize > LargestAppendSize {
		return fmt.Errorf("MaxAppendSize must be between 1 and %d bytes", LargestAppendSize)
	}
	switch c.Answers {
	case AnswersOwn, Answers2310, Answers2410:
	default:
		return fmt.Errorf("Answers of an unknown server: %q", c.Answers)
	}
	if c.User != "" && c.TLS == nil {
		return errors.New("a user and password need TLS")
	}
	if c.User == "" && c.Password != "" || strings.Contains(c.User, ":") {
		return errors.New("a password needs a user, whose name has no colon")
	}
	if c.FS == nil {
		c.FS = vfs.Default
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
	close(s.writer.quit)
	<-s.writer.stopped
	s.stopServers()
	s.serving.Wait()
	s.mu.Lock() // Stat may be reading
	defer s.mu.Unlock()
	return s.closeFolder()
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

func (s *Store) closeFolder() error {
	var errs []error
	for _, c := range []io.Closer{s.db, s.lock} {
		if err := c.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("close event store: %w", errors.Join(errs...))
	}
	return nil
}

// Stat returns counts and positions. After Close it still returns the last
// ones, without the size on disk.
func (s *Store) Stat() Stat {
	c := s.counters.Load()
	st := Stat{
		Events:        c.events,
		Streams:       c.streams,
		Head:          s.tail.head.Load(),
		Subscriptions: int(s.subscriptions.Load()),
		Failure:       s.writer.err(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		st.DiskBytes = s.db.Metrics().DiskSpaceUsage()
	}
	return st
}

// publish is called by the writer with events that have become durable.
func (s *Store) publish(events []*record, c counters) {
	s.counters.Store(&c)
	s.tail.publish(events)
}
