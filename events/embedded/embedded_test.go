package embedded

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
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTimeout bounds every wait of a test.
const testTimeout = 3 * time.Minute

// newStoreEvents is the number of system events in a new store.
const newStoreEvents = 7

type server struct {
	*Store
	addr string
}

// open starts a store in memory and serves it on a free port until the test ends.
func open(t testing.TB, change ...func(*Config)) *server {
	t.Helper()
	cfg := Config{Dir: "store", FS: vfs.NewMem()}
	for _, f := range change {
		f(&cfg)
	}
	store, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, store)
}

func serve(t testing.TB, store *Store) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- store.Serve(ln) }()
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return &server{store, ln.Addr().String()}
}

func dial(t testing.TB, s *server) *esdb.Client {
	t.Helper()
	return dialURL(t, "esdb://"+s.addr+"?tls=false")
}

func dialURL(t testing.TB, url string) *esdb.Client {
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
	t.Cleanup(func() { client.Close() })
	return client
}

// dialRaw returns the generated client, for calls that the official client cannot make.
func dialRaw(t testing.TB, s *server) streams.StreamsClient {
	t.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return streams.NewStreamsClient(conn)
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// event returns an event whose data is its name and whose id derives from its name.
func event(name string) esdb.EventData {
	return esdb.EventData{
		EventID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)), EventType: "test.happened.v1",
		ContentType: esdb.ContentTypeJson, Data: fmt.Appendf(nil, "%q", name),
	}
}

func events(names ...string) []esdb.EventData {
	list := make([]esdb.EventData, len(names))
	for i, name := range names {
		list[i] = event(name)
	}
	return list
}

func appendTo(
	t testing.TB, c *esdb.Client, stream string, expected esdb.ExpectedRevision, names ...string,
) *esdb.WriteResult {
	t.Helper()
	res, err := c.AppendToStream(
		testContext(t), stream, esdb.AppendToStreamOptions{ExpectedRevision: expected}, events(names...)...,
	)
	if err != nil {
		t.Fatalf("append %v to %s: %v", names, stream, err)
	}
	return res
}

// drainRead returns all events of a read.
func drainRead(read *esdb.ReadStream, err error) ([]*esdb.ResolvedEvent, error) {
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

const all = ^uint64(0) >> 1

func readStream(
	t testing.TB, c *esdb.Client, stream string, opts esdb.ReadStreamOptions,
) ([]*esdb.ResolvedEvent, error) {
	t.Helper()
	return drainRead(c.ReadStream(testContext(t), stream, opts, all))
}

func readAll(t testing.TB, c *esdb.Client, opts esdb.ReadAllOptions) []*esdb.ResolvedEvent {
	t.Helper()
	got, err := drainRead(c.ReadAll(testContext(t), opts, all))
	if err != nil {
		t.Fatalf("read $all: %v", err)
	}
	return got
}

// names returns the names from which event made the events.
func names(list []*esdb.ResolvedEvent) []string {
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

func errorCode(err error) esdb.ErrorCode {
	var e *esdb.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return esdb.ErrorCodeUnknown
}

func wantCode(t testing.TB, err error, want esdb.ErrorCode) {
	t.Helper()
	if err == nil || errorCode(err) != want {
		t.Fatalf("error %v, want code %v", err, want)
	}
}

func wantNames(t testing.TB, got []*esdb.ResolvedEvent, want ...string) {
	t.Helper()
	if g := names(got); fmt.Sprint(g) != fmt.Sprint(want) {
		t.Fatalf("events %v, want %v", g, want)
	}
}
