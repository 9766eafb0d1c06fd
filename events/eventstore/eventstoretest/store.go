package eventstoretest

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded"
	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/recordedtest"
	"linkledger/events/eventstore"
)

// Server is an event store that a test may stop and restart.
type Server struct {
	t       testing.TB
	config  embedded.Config
	address string
	network *Proxy // in front of the server, or nil
	store   *embedded.Store
	served  chan error
}

// delayVariable names the environment variable that puts a proxy in front of each event store. Its
// value is the delay in each direction, for example 5ms.
const delayVariable = "TEST_DELAY"

// Serve starts an event store in memory until the test ends.
func Serve(t testing.TB) *Server {
	t.Helper()
	return ServeConfig(t, embedded.Config{Dir: "events", FS: vfs.NewMem()})
}

// ServeFolder starts an event store in a folder of the disk, with real syncs, until the test ends.
func ServeFolder(t testing.TB, folder string) *Server {
	t.Helper()
	return ServeConfig(t, embedded.Config{Dir: folder})
}

// ServeAnswers starts an event store in memory that answers in the dialect of another server, until
// the test ends.
func ServeAnswers(t testing.TB, answers dialect.Dialect) *Server {
	t.Helper()
	return ServeConfig(t, embedded.Config{Dir: "events", FS: vfs.NewMem(), Dialect: answers})
}

// ServeConfig starts an event store with a configuration until the test ends.
func ServeConfig(t testing.TB, config embedded.Config) *Server {
	t.Helper()
	listener := Listen(t)
	s := &Server{t: t, config: config, address: listener.Addr().String()}
	s.serve(listener)
	t.Cleanup(s.Stop)
	if text := os.Getenv(delayVariable); text != "" {
		delay, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", delayVariable, err)
		}
		s.network = Between(t, s.address)
		s.network.Delay(delay)
	}
	return s
}

// Address returns the address of the server, host:port.
func (s *Server) Address() string { return s.address }

// URL returns the connection string.
func (s *Server) URL() string {
	if s.network != nil {
		return s.network.URL()
	}
	return "esdb://" + s.address + "?tls=false"
}

// Start restarts a stopped server at its address with its data.
func (s *Server) Start() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.serve(listener)
}

func (s *Server) serve(listener net.Listener) {
	s.t.Helper()
	store, err := embedded.Open(s.config)
	if err != nil {
		_ = listener.Close()
		s.t.Fatal(err)
	}
	s.store, s.served = store, make(chan error, 1)
	go func(served chan<- error) { served <- store.Serve(listener) }(s.served)
}

// Stop stops the server, its calls and its subscriptions. The data remains for the next Start.
func (s *Server) Stop() {
	s.t.Helper()
	if s.store == nil {
		return
	}
	if err := s.store.Close(); err != nil {
		s.t.Errorf("close the event store: %v", err)
	}
	// ErrClosed is no failure: a test that ends immediately closes the store before it serves.
	if err := <-s.served; err != nil && !errors.Is(err, embedded.ErrClosed) {
		s.t.Errorf("serve the event store: %v", err)
	}
	s.store = nil
}

// New returns a connection to a new event store.
func New(t testing.TB) *eventstore.Store {
	t.Helper()
	return Open(t, Serve(t).URL())
}

// Each runs a test once per dialect of the embedded event store, each time with a new event store.
func Each(t *testing.T, test func(*testing.T, *Server)) {
	t.Helper()
	for name, answers := range recordedtest.Dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, ServeAnswers(t, answers))
		})
	}
}

// Open connects to an event store until the test ends.
func Open(t testing.TB, url string) *eventstore.Store {
	t.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}
