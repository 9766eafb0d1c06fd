package node_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"linkledger/events/embedded"
	"linkledger/events/embedded/servertest"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/node"
	"linkledger/waiting"
)

func TestTLSAndCredentials(t *testing.T) {
	t.Parallel()
	server := eventstoretest.ServeConfig(t, embedded.Config{
		Dir: "events", FS: vfs.NewMem(), TLS: servertest.TLS(t), User: "linker", Password: "secret",
	})
	for login, want := range map[string]error{
		"linker:secret@": nil, "linker:wrong@": eventstore.ErrDenied, "": eventstore.ErrDenied,
	} {
		store := eventstoretest.Open(t, "esdb://"+login+server.Address()+"?tls=true&tlsVerifyCert=false")
		if _, err := store.Append(
			t.Context(), eventstoretest.TagWrite("tags-"+uuid.NewString(), eventstore.NoStream, uuid.New(), "a"),
		); !errors.Is(err, want) {
			t.Errorf("append as %q: %v", login, err)
		}
		if _, err := store.Load(t.Context(), "tags-none"); !errors.Is(err, want) {
			t.Errorf("load as %q: %v", login, err)
		}
		if _, err := store.Head(t.Context()); !errors.Is(err, want) {
			t.Errorf("head as %q: %v", login, err)
		}
	}
}

// TestDiscovery checks that the client asks a cluster for its leader. The embedded store is a
// cluster of one node.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	for _, url := range []string{
		"esdb+discover://" + server.Address() + "?tls=false",
		"esdb://127.0.0.1:1," + server.Address() + "?tls=false",
	} {
		store := eventstoretest.Open(t, url)
		stream := "tags-" + uuid.NewString()
		if _, err := store.Append(
			t.Context(), eventstoretest.TagWrite(stream, eventstore.NoStream, uuid.New(), "a"),
		); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if loaded, err := store.Load(t.Context(), stream); err != nil || len(loaded) != 1 {
			t.Errorf("%s: %d events, %v", url, len(loaded), err)
		}
	}
}

// TestParseURLQuotesNoPassword checks that errors of a connection string quote at most the name of a
// setting or of a file.
func TestParseURLQuotesNoPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"esdb://ada:hunter2":                                       "%XX",
		"esdb://ada:hunter2@es:port":                               "%XX",
		"esdb://ada:hunter2%zz@es":                                 "%XX",
		"esdb://ada:x@hunter2:1:2":                                 "%XX",
		"esdb://ada:x@es/hunter2":                                  "%XX",
		"esdb://ada:hunter2@es:1,es:hunter2":                       "%XX",
		"kafka://ada:hunter2@es":                                   "%XX",
		"esdb://ada:hunter2@es?nodePreference=hunter2":             "%XX",
		"esdb://ada:hunter2@es?keepAliveInterval=hunter2":          "%XX",
		"esdb://ada:hunter2@es?tls=hunter2":                        "Setting 'tls'",
		"esdb://ada:hunter2@es?tls=true&tlsCaFile=/nowhere/ca.crt": "/nowhere/ca.crt",
	} {
		_, err := node.ParseURL(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// TestNoLeader checks what a cluster without a reachable leader is.
func TestNoLeader(t *testing.T) {
	t.Parallel()
	config, err := node.ParseURL("esdb://127.0.0.1:1,127.0.0.1:2?tls=false&gossipTimeout=1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = node.New(config, nil).Connect(t.Context())
	if !errors.Is(err, eventlog.ErrUnavailable) || !strings.Contains(err.Error(), "ask 127.0.0.1:2 for the leader") {
		t.Error(err)
	}
}

// TestInside checks that a node within the process is reached without the network.
func TestInside(t *testing.T) {
	t.Parallel()
	config, err := node.ParseURL("esdb://127.0.0.1:1?tls=false")
	if err != nil {
		t.Fatal(err)
	}
	dialed := make(chan struct{}, 100)
	conn, err := node.New(config, func(context.Context) (net.Conn, error) {
		dialed <- struct{}{}
		return nil, errors.New("closed")
	}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Connect()
	<-dialed
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		errs  []error // of the attempts, the last again and again
		want  error
		calls int
	}{
		"success":        {[]error{nil}, nil, 1},
		"after outages":  {[]error{eventlog.ErrUnavailable, eventlog.ErrUnavailable, nil}, nil, 3},
		"another error":  {[]error{broken}, broken, 1},
		"refused writes": {[]error{eventlog.ErrRefusesWrites}, eventlog.ErrRefusesWrites, 1},
		"no time":        {[]error{eventlog.ErrUnavailable}, eventlog.ErrUnavailable, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			store := waiting.NewDependency(waiting.DependencyConfig{What: "event store"})
			calls := 0
			got, err := node.Retry(ctx, slog.New(slog.DiscardHandler), store, func(context.Context) (int, error) {
				if calls++; calls == 3 && name == "no time" {
					end()
				}
				return calls, tc.errs[min(calls, len(tc.errs))-1]
			})
			if !errors.Is(err, tc.want) || calls != tc.calls || got != calls {
				t.Errorf("%d after %d calls, %v; want %d calls, %v", got, calls, err, tc.calls, tc.want)
			}
		})
	}
}
