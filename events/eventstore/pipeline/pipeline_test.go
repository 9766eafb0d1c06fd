package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/metadata"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/pipeline"
	"linkledger/events/eventstore/wire"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// open returns the pipeline to an event store until the test ends.
func open(t *testing.T, url string, timeout time.Duration) *pipeline.Pipeline {
	t.Helper()
	config, err := node.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	p := pipeline.New(node.New(config, nil), timeout, slog.New(slog.DiscardHandler))
	t.Cleanup(p.Close)
	return p
}

// request returns the append of an event of some bytes.
func request(stream string, expected eventlog.Revision, kind string, bytes int) *wire.BatchAppend {
	event := wire.ProposedMessage(uuid.New(), kind, make([]byte, bytes), nil)
	return wire.NewBatchAppend(stream, expected, []*streams.BatchAppendReq_ProposedMessage{event})
}

func TestAppend(t *testing.T) { //nolint:tparallel // its end closes the pipeline
	t.Parallel()
	server := eventstoretest.Serve(t)
	p := open(t, server.URL(), time.Minute)
	for stream, tc := range map[string]struct { //nolint:paralleltest // one after the other
		append *wire.BatchAppend
		want   error
	}{
		"new":       {request("new", eventlog.NoStream, "t", 1), nil},
		"other":     {request("other", 3, "t", 1), eventlog.ErrWrongRevision},
		"large":     {request("large", eventlog.NoStream, "t", 2<<20), eventlog.ErrTooLarge},
		"malformed": {request("malformed", eventlog.NoStream, "", 1), eventlog.ErrInvalid},
		"denied":    {request("$all", eventlog.NoStream, "t", 1), eventlog.ErrForbidden},
	} {
		t.Run(stream, func(t *testing.T) {
			stored, err := p.Append(t.Context(), tc.append)
			if !errors.Is(err, tc.want) || err == nil && stored.GetPosition().GetCommitPosition() == 0 {
				t.Errorf("%v, %v; want %v", stored, err, tc.want)
			}
		})
	}
	eventstoretest.Append(t, server.URL(), metadata.StreamOf("other"), metadata.TypeMetadata, []byte("{}"))
	p.Close()
	if _, err := p.Append(t.Context(), request("late", eventlog.NoStream, "t", 1)); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAppendInOrder(t *testing.T) {
	t.Parallel()
	p := open(t, eventstoretest.Serve(t).URL(), time.Minute)
	inOrder := func(revisions ...eventlog.Revision) (int, error) {
		var requests []*wire.BatchAppend
		for _, revision := range revisions {
			requests = append(requests, request("s", revision, "t", 1))
		}
		return p.AppendInOrder(t.Context(), requests)
	}
	if stored, err := inOrder(eventlog.NoStream, 0, 1); stored != 3 || err != nil {
		t.Errorf("%d stored, %v", stored, err)
	}
	if stored, err := inOrder(2, 7, 3); stored != 1 || !errors.Is(err, eventlog.ErrWrongRevision) {
		t.Errorf("%d stored, %v", stored, err)
	}
}

// TestNoAnswer checks that an append that is not answered has an unknown outcome, and that the next
// one is sent over another connection.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	network, swallow := eventstoretest.Swallowed(t, eventstoretest.Serve(t).Address())
	p := open(t, fmt.Sprintf("esdb://%s?tls=false", network.Addr()), 300*time.Millisecond)
	for name, attempt := range map[string]func(*wire.BatchAppend) error{
		"one": func(of *wire.BatchAppend) error { _, err := p.Append(t.Context(), of); return err },
		"several": func(of *wire.BatchAppend) error {
			_, err := p.AppendInOrder(t.Context(), []*wire.BatchAppend{of})
			return err
		},
	} {
		if err := attempt(request(name, eventlog.NoStream, "t", 1)); err != nil {
			t.Fatal(err)
		}
		swallow()
		next := request(name, 0, "t", 1)
		if err := attempt(next); !errors.Is(err, eventlog.ErrUnavailable) || !errors.Is(err, eventlog.ErrNoAnswer) {
			t.Fatalf("%s without an answer: %v", name, err)
		}
		if err := attempt(next); err != nil {
			t.Errorf("%s over another connection: %v", name, err)
		}
	}
}

// TestReset ends the call in use while an append waits for its answer.
func TestReset(t *testing.T) {
	t.Parallel()
	silence := eventstoretest.Silenced(t, "tcp", eventstoretest.Serve(t).Address())
	p := open(t, fmt.Sprintf("esdb://%s?tls=false", silence.Addr()), time.Minute)
	p.Reset() // there is none yet
	if _, err := p.Append(t.Context(), request("first", eventlog.NoStream, "t", 1)); err != nil {
		t.Fatal(err)
	}
	silence.Begin()
	answered := make(chan error, 1)
	go func() {
		_, err := p.Append(context.Background(), request("s", eventlog.NoStream, "t", 1))
		answered <- err
	}()
	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if _, err := p.Append(ctx, request("t", eventlog.NoStream, "t", 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without time: %v", err)
	}
	p.Reset()
	if err := <-answered; !errors.Is(err, eventlog.ErrUnavailable) || !errors.Is(err, eventlog.ErrNoAnswer) {
		t.Errorf("an append that waits: %v", err)
	}
	silence.End()
}
