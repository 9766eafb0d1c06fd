package embedded

import (
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
)

const (
	benchCallers = 64
	benchBytes   = 300
)

// echoService answers appends without doing anything: what remains of an append
// when there is no store.
type echoService struct {
	streams.UnimplementedStreamsServer
}

func (echoService) Append(call streams.Streams_AppendServer) error {
	for {
		if _, err := call.Recv(); errors.Is(err, io.EOF) {
			return call.SendAndClose(&streams.AppendResp{Result: &streams.AppendResp_Success_{Success: &streams.AppendResp_Success{}}})
		} else if err != nil {
			return err
		}
	}
}

// parallel runs b.N calls from 64 callers and reports them per second.
func parallel(b *testing.B, call func(caller, i int) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for caller := range benchCallers {
		wg.Go(func() {
			for i := 0; next.Add(1) <= int64(b.N); i++ {
				if err := call(caller, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func openBench(b *testing.B) *server {
	store, err := Open(Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	return serve(b, store)
}

// BenchmarkAppend writes single events with sync on, through the official client.
func BenchmarkAppend(b *testing.B) {
	c := dial(b, openBench(b))
	data := make([]byte, benchBytes)
	ctx := b.Context()
	parallel(b, func(caller, i int) error {
		_, err := c.AppendToStream(ctx, fmt.Sprintf("url-%d-%d", caller, i), esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}},
			esdb.EventData{EventID: uuid.New(), EventType: "url.created.v1", ContentType: esdb.ContentTypeJson, Data: data})
		return err
	})
}

// BenchmarkEcho is the control of BenchmarkAppend: the same calls to a server
// that stores nothing.
func BenchmarkEcho(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := grpc.NewServer()
	streams.RegisterStreamsServer(srv, echoService{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	defer func() { srv.Stop(); <-served }()
	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	client, data, ctx := streams.NewStreamsClient(conn), make([]byte, benchBytes), b.Context()
	parallel(b, func(caller, i int) error {
		call, err := client.Append(ctx)
		if err != nil {
			return err
		}
		options := &streams.AppendReq_Options{
			StreamIdentifier:       wireStream(fmt.Sprintf("url-%d-%d", caller, i)),
			ExpectedStreamRevision: &streams.AppendReq_Options_NoStream{NoStream: &shared.Empty{}},
		}
		if err := call.Send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: options}}); err != nil {
			return err
		}
		message := &streams.AppendReq_ProposedMessage{
			Id:       wireUUID(uuid.New(), false),
			Metadata: map[string]string{"type": "url.created.v1", "content-type": contentJSON},
			Data:     data, CustomMetadata: []byte{},
		}
		if err := call.Send(&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: message}}); err != nil {
			return err
		}
		_, err = call.CloseAndRecv()
		return err
	})
}

// BenchmarkDeliver measures one filtered subscription from the start of the
// log, through the official client.
func BenchmarkDeliver(b *testing.B) {
	s := openBench(b)
	data := make([]byte, benchBytes)
	const perAppend = 500
	for written := 0; written < b.N; written += perAppend {
		list := make([]proposed, min(perAppend, b.N-written))
		for i := range list {
			list[i] = proposed{id: uuid.New(), kind: "url.created.v1", json: true, data: data}
		}
		out := s.writer.submit(b.Context(), 0, func(l *ledger) outcome {
			return l.planAppend(fmt.Sprintf("url-%d", written), expectNoStream, list)
		})
		if out.err != nil {
			b.Fatal(out.err)
		}
	}
	c := dial(b, s)
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

// BenchmarkReopen opens a store that holds 500,000 events.
func BenchmarkReopen(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Config{Dir: dir, NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, benchBytes)
	for i := range 1000 {
		list := make([]proposed, 500)
		for j := range list {
			list[j] = proposed{id: uuid.New(), kind: "url.created.v1", json: true, data: data}
		}
		s.writer.submit(b.Context(), 0, func(l *ledger) outcome {
			return l.planAppend(fmt.Sprint("url-", i), expectNoStream, list)
		})
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start := time.Now()
		s, err := Open(Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/open")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
