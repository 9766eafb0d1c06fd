package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"linkledger/events/embedded"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/servertest"
	"linkledger/events/embedded/wire"
)

const (
	benchCallers = 64
	benchBytes   = 300
)

// echoService answers appends without a store, so that its cost is that of an append outside the
// store.
type echoService struct {
	streams.UnimplementedStreamsServer
}

func (echoService) Append(call streams.Streams_AppendServer) error {
	for {
		if _, err := call.Recv(); errors.Is(err, io.EOF) {
			return call.SendAndClose(
				&streams.AppendResp{Result: &streams.AppendResp_Success_{Success: &streams.AppendResp_Success{}}},
			)
		} else if err != nil {
			return err
		}
	}
}

// BenchmarkAppend writes single events with sync on, through the official client. It alternates
// with the same calls to a server that stores nothing, so that both run under the same conditions,
// and reports the ratio.
func BenchmarkAppend(b *testing.B) {
	const turn = 4096 // calls
	ctx, data := b.Context(), make([]byte, benchBytes)
	client, echo := servertest.Dial(b, openBench(b)), dialEcho(b)
	var appending, echoing time.Duration
	for done := 0; done < b.N; done += turn {
		n := min(turn, b.N-done)
		appending += fromManyCallers(b, n, func(i int) error {
			_, err := client.AppendToStream(ctx, fmt.Sprintf("url-%d", done+i),
				esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}},
				esdb.EventData{
					EventID: uuid.New(), EventType: "url.created.v1", ContentType: esdb.ContentTypeJson, Data: data,
				})
			return err
		})
		echoing += fromManyCallers(b, n, func(i int) error {
			return echoAppend(ctx, echo, fmt.Sprintf("url-%d", done+i), data)
		})
	}
	b.ReportMetric(float64(b.N)/appending.Seconds(), "events/s")
	b.ReportMetric(float64(b.N)/echoing.Seconds(), "echoes/s")
	b.ReportMetric(echoing.Seconds()/appending.Seconds(), "events/echo")
}

// fromManyCallers makes n calls concurrently and returns how long they took.
func fromManyCallers(b *testing.B, n int, call func(i int) error) time.Duration {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range benchCallers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := call(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func openBench(b *testing.B) *servertest.Server {
	b.Helper()
	store, err := embedded.Open(embedded.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	return servertest.Serve(b, store)
}

func dialEcho(b *testing.B) streams.StreamsClient {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := grpc.NewServer()
	streams.RegisterStreamsServer(srv, echoService{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); srv.Stop(); <-served })
	return streams.NewStreamsClient(conn)
}

// echoAppend sends the messages that the official client sends for one event.
func echoAppend(ctx context.Context, client streams.StreamsClient, stream string, data []byte) error {
	call, err := client.Append(ctx)
	if err != nil {
		return err
	}
	options := &streams.AppendReq_Options{
		StreamIdentifier:       wire.StreamIdentifier(stream),
		ExpectedStreamRevision: &streams.AppendReq_Options_NoStream{NoStream: &shared.Empty{}},
	}
	if err := call.Send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: options}}); err != nil {
		return err
	}
	if err := call.Send(servertest.EventReq(&streams.AppendReq_ProposedMessage{
		Id:       wire.UUID(uuid.New(), false),
		Metadata: map[string]string{"type": "url.created.v1", "content-type": record.ContentJSON},
		Data:     data, CustomMetadata: []byte{},
	})); err != nil {
		return err
	}
	_, err = call.CloseAndRecv()
	return err
}

// BenchmarkDeliver measures one filtered subscription from the start of the log, through the
// official client.
func BenchmarkDeliver(b *testing.B) {
	s := openBench(b)
	data := make([]byte, benchBytes)
	const perAppend = 500
	for written := 0; written < b.N; written += perAppend {
		list := make([]record.Proposed, min(perAppend, b.N-written))
		for i := range list {
			list[i] = record.Proposed{ID: uuid.New(), Type: "url.created.v1", JSON: true, Data: data}
		}
		out := s.Writer().Submit(b.Context(), 0, func(l *ledger.Ledger) ledger.Outcome {
			return l.Append(fmt.Sprintf("url-%d", written), revision.NoStream, list)
		})
		if out.Err != nil {
			b.Fatal(out.Err)
		}
	}
	c := servertest.Dial(b, s)
	b.ResetTimer()
	sub, err := c.SubscribeToAll(b.Context(), esdb.SubscribeToAllOptions{
		From: esdb.Start{}, Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"url-"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer sub.Close()
	for got := 0; got < b.N; {
		ev := sub.Recv()
		if ev.SubscriptionDropped != nil {
			b.Fatal(ev.SubscriptionDropped.Error)
		}
		if ev.EventAppeared != nil {
			got++
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
