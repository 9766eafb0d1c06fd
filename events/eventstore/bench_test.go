package eventstore_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/embedded"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/logcopy"
)

const callers = 64

// fromCallers makes n calls from many callers and returns how long they took.
func fromCallers(b *testing.B, n int, call func(i int) error) time.Duration {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := call(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// onDisk starts an embedded store on disk with sync.
func onDisk(b *testing.B) string {
	b.Helper()
	server, err := embedded.Open(embedded.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	b.Cleanup(func() {
		if err := server.Close(); err != nil {
			b.Error(err)
		}
		<-served
	})
	return "esdb://" + listener.Addr().String() + "?tls=false"
}

// bothClients connects this client and the official one to an event store.
func bothClients(b *testing.B, url string) (*eventstore.Store, *esdb.Client) {
	b.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(store.Close)
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		b.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	return store, client
}

// BenchmarkAppend appends single events of about 300 bytes from 64 callers. It alternates with
// AppendToStream of the official client on the same store.
func BenchmarkAppend(b *testing.B) {
	const turn = 4096
	url, ctx := onDisk(b), b.Context()
	store, client := bothClients(b, url)
	event := events.URLRetargeted{LongURL: "https://example.com/" + strings.Repeat("x", 250)}
	body, err := codec.Encode(event)
	if err != nil {
		b.Fatal(err)
	}
	var ours, official time.Duration
	for done := 0; done < b.N; done += turn {
		n := min(turn, b.N-done)
		ours += fromCallers(b, n, func(i int) error {
			_, err := store.Append(ctx, eventstore.Write{
				Stream: fmt.Sprintf("url-%d", done+i), Expected: eventstore.NoStream, Command: uuid.New(),
				Events: []events.Event{event},
			})
			return err
		})
		official += fromCallers(b, n, func(i int) error {
			_, err := client.AppendToStream(ctx, fmt.Sprintf("official-%d", done+i),
				esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}},
				esdb.EventData{
					EventID: uuid.New(), EventType: event.EventType(), ContentType: esdb.ContentTypeJson, Data: body,
				})
			return err
		})
	}
	b.ReportMetric(float64(b.N)/ours.Seconds(), "appends/s")
	b.ReportMetric(float64(b.N)/official.Seconds(), "official/s")
	b.ReportMetric(official.Seconds()/ours.Seconds(), "ratio")
}

// BenchmarkCopy copies single events of about 300 bytes, each to its own stream, and compares the
// two logs.
func BenchmarkCopy(b *testing.B) {
	open := func() *eventstore.Store {
		store, err := eventstore.Open(eventstore.Config{URL: onDisk(b)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(store.Close)
		return store
	}
	source, target := open(), open()
	event := events.URLRetargeted{LongURL: "https://example.com/" + strings.Repeat("x", 250)}
	fromCallers(b, b.N, func(i int) error {
		_, err := source.Append(b.Context(), eventstore.Write{
			Stream: fmt.Sprintf("url-%d", i), Expected: eventstore.NoStream, Command: uuid.New(),
			Events: []events.Event{event},
		})
		return err
	})
	began := make(map[logcopy.Stage]time.Time)
	b.ResetTimer()
	if _, err := logcopy.Copy(b.Context(), source, target, func(p logcopy.Progress) {
		if _, known := began[p.Stage]; !known {
			began[p.Stage] = time.Now()
		}
	}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(b.N)/time.Since(began[logcopy.Verifying]).Seconds(), "compared/s")
}

// BenchmarkLoad loads streams of two events from 64 callers. It alternates with ReadStream of the
// official client.
func BenchmarkLoad(b *testing.B) {
	const turn, links = 4096, 1000
	url, ctx := onDisk(b), b.Context()
	store, client := bothClients(b, url)
	event := events.URLRetargeted{LongURL: "https://example.com/" + strings.Repeat("x", 250)}
	stream := func(i int) string { return fmt.Sprintf("url-%d", i%links) }
	fromCallers(b, links, func(i int) error {
		_, err := store.Append(ctx, eventstore.Write{
			Stream: stream(i), Expected: eventstore.NoStream, Command: uuid.New(), Events: []events.Event{event, event},
		})
		return err
	})
	var ours, official time.Duration
	b.ResetTimer()
	for done := 0; done < b.N; done += turn {
		n := min(turn, b.N-done)
		ours += fromCallers(b, n, func(i int) error {
			loaded, err := store.Load(ctx, stream(i))
			if err == nil && len(loaded) != 2 {
				err = fmt.Errorf("%d events", len(loaded))
			}
			return err
		})
		official += fromCallers(b, n, func(i int) error {
			reading, err := client.ReadStream(ctx, stream(i), esdb.ReadStreamOptions{}, 500)
			if err != nil {
				return err
			}
			defer reading.Close()
			for err == nil {
				_, err = reading.Recv()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		})
	}
	b.ReportMetric(float64(b.N)/ours.Seconds(), "loads/s")
	b.ReportMetric(float64(b.N)/official.Seconds(), "official/s")
	b.ReportMetric(official.Seconds()/ours.Seconds(), "ratio")
}
