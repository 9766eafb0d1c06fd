// Package servertest serves event stores to tests, over the protocol and its clients.
package servertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"linkledger/events/embedded"
)

// Timeout bounds every wait of a test.
const Timeout = 3 * time.Minute

// NewStoreEvents is the number of system events in a new store.
const NewStoreEvents = 7

// Server is an event store that is served at an address.
type Server struct {
	*embedded.Store

	Addr string // host:port
}

// Open starts a store in memory and serves it on a free port until the test ends.
func Open(t testing.TB, change ...func(*embedded.Config)) *Server {
	t.Helper()
	cfg := embedded.Config{Dir: "store", FS: vfs.NewMem()}
	for _, f := range change {
		f(&cfg)
	}
	store, err := embedded.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return Serve(t, store)
}

// Serve serves a store on a free port until the test ends.
func Serve(t testing.TB, store *embedded.Store) *Server {
	t.Helper()
	return serve(t, store, func(err error) {
		if err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// ServeFailing is Serve for a store whose Close may return an error.
func ServeFailing(t testing.TB, store *embedded.Store) *Server {
	t.Helper()
	return serve(t, store, func(error) {})
}

func serve(t testing.TB, store *embedded.Store, closed func(error)) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- store.Serve(ln) }()
	t.Cleanup(func() {
		closed(store.Close())
		if err := <-served; err != nil && !errors.Is(err, embedded.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return &Server{store, ln.Addr().String()}
}

// Dial returns the official client, connected to s.
func Dial(t testing.TB, s *Server) *esdb.Client {
	t.Helper()
	return DialURL(t, "esdb://"+s.Addr+"?tls=false")
}

// DialURL returns the official client for a connection string.
func DialURL(t testing.TB, url string) *esdb.Client {
	t.Helper()
	cfg, err := esdb.ParseConnectionString(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// DialRaw returns the generated client, for calls that the official client cannot make.
func DialRaw(t testing.TB, s *Server) streams.StreamsClient {
	t.Helper()
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return streams.NewStreamsClient(conn)
}

// Context returns a context that bounds every wait of a test.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	t.Cleanup(cancel)
	return ctx
}

// Event returns an event whose data is its name and whose id derives from its name.
func Event(name string) esdb.EventData {
	return esdb.EventData{
		EventID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)), EventType: "test.happened.v1",
		ContentType: esdb.ContentTypeJson, Data: fmt.Appendf(nil, "%q", name),
	}
}

// Events returns an event for each name.
func Events(names ...string) []esdb.EventData {
	list := make([]esdb.EventData, len(names))
	for i, name := range names {
		list[i] = Event(name)
	}
	return list
}

// Append appends an event for each name to a stream.
func Append(
	t testing.TB, c *esdb.Client, stream string, expected esdb.ExpectedRevision, names ...string,
) *esdb.WriteResult {
	t.Helper()
	res, err := c.AppendToStream(
		Context(t), stream, esdb.AppendToStreamOptions{ExpectedRevision: expected}, Events(names...)...,
	)
	if err != nil {
		t.Fatalf("append %v to %s: %v", names, stream, err)
	}
	return res
}

// Drain returns all events of a read.
func Drain(read *esdb.ReadStream, err error) ([]*esdb.ResolvedEvent, error) {
	if err != nil {
		return nil, err
	}
	defer read.Close()
	var got []*esdb.ResolvedEvent
	for {
		ev, err := read.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, ev)
	}
}

// All is a count that no stream reaches.
const All = ^uint64(0) >> 1

// ReadStream reads a stream to its end.
func ReadStream(
	t testing.TB, c *esdb.Client, stream string, opts esdb.ReadStreamOptions,
) ([]*esdb.ResolvedEvent, error) {
	t.Helper()
	return Drain(c.ReadStream(Context(t), stream, opts, All))
}

// ReadAll reads the log to its end.
func ReadAll(t testing.TB, c *esdb.Client, opts esdb.ReadAllOptions) []*esdb.ResolvedEvent {
	t.Helper()
	got, err := Drain(c.ReadAll(Context(t), opts, All))
	if err != nil {
		t.Fatalf("read $all: %v", err)
	}
	return got
}

// Names returns the names from which Event made the events.
func Names(list []*esdb.ResolvedEvent) []string {
	out := make([]string, len(list))
	for i, ev := range list {
		if ev.Event == nil {
			out[i] = "<unresolved>"
			continue
		}
		out[i] = string(ev.Event.Data)
		if n := len(out[i]); n > 1 && out[i][0] == '"' {
			out[i] = out[i][1 : n-1]
		}
	}
	return out
}

// ErrorCode returns the code of an error of the official client. It returns ErrorCodeUnknown for
// other errors.
func ErrorCode(err error) esdb.ErrorCode {
	var e *esdb.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return esdb.ErrorCodeUnknown
}

// WantCode fails the test unless an error of the official client has the code.
func WantCode(t testing.TB, err error, want esdb.ErrorCode) {
	t.Helper()
	if err == nil || ErrorCode(err) != want {
		t.Fatalf("error %v, want code %v", err, want)
	}
}

// WantNames fails the test unless the events have the names.
func WantNames(t testing.TB, got []*esdb.ResolvedEvent, want ...string) {
	t.Helper()
	if g := Names(got); fmt.Sprint(g) != fmt.Sprint(want) {
		t.Fatalf("events %v, want %v", g, want)
	}
}

// Delete deletes a stream.
func Delete(t testing.TB, c *esdb.Client, stream string, expected esdb.ExpectedRevision) error {
	t.Helper()
	_, err := c.DeleteStream(Context(t), stream, esdb.DeleteStreamOptions{ExpectedRevision: expected})
	return err
}

// SetMetadata writes the metadata of a stream.
func SetMetadata(t testing.TB, c *esdb.Client, stream, data string) {
	t.Helper()
	ev := esdb.EventData{EventType: "$metadata", ContentType: esdb.ContentTypeJson, Data: []byte(data)}
	_, err := c.AppendToStream(Context(t), "$$"+stream, esdb.AppendToStreamOptions{}, ev)
	if err != nil {
		t.Fatal(err)
	}
}
