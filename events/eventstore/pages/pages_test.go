package pages_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/pages"
	"linkledger/events/eventstore/wire"
	"linkledger/waiting"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// open returns the pages of an event store until the test ends.
func open(t *testing.T, url string, timeout time.Duration) *pages.Pages {
	t.Helper()
	config, err := node.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	store := waiting.NewDependency(waiting.DependencyConfig{What: "event store"})
	p := pages.New(node.New(config, nil), timeout, store, slog.New(slog.DiscardHandler))
	t.Cleanup(p.Close)
	return p
}

// filled returns a server with a stream of three events.
func filled(t *testing.T) *eventstoretest.Server {
	t.Helper()
	server := eventstoretest.Serve(t)
	write := eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), "a", "b", "c")
	if _, err := eventstoretest.Open(t, server.URL()).Append(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	return server
}

func TestRead(t *testing.T) {
	t.Parallel()
	p := open(t, filled(t).URL(), time.Minute)
	page, err := p.Read(t.Context(), wire.EventsOf("tags-a", 1, 9))
	if err != nil || len(page) != 2 || page[0].Revision != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err := p.Read(t.Context(), wire.EventsOf("tags-none", 0, 9)); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("no stream: %+v, %v", page, err)
	}
	if at, err := p.Date(t.Context()); err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("%s, %v", at, err)
	}
	p.Close()
	if _, err := p.Read(t.Context(), wire.LastOfLog()); err == nil || p.Closed().Err() == nil {
		t.Errorf("a read after the end: %v", err)
	}
}

// TestOutage checks that a read waits for the event store, that an attempt does not, and that a connection is replaced.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := filled(t)
	p := open(t, server.URL(), time.Minute)
	if _, err := p.Try(t.Context(), wire.LastOfLog()); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if _, err := p.Try(t.Context(), wire.LastOfLog()); err == nil {
		t.Fatal("a stopped event store answers")
	}
	read := make(chan error, 1)
	go func() {
		_, err := p.Read(context.Background(), wire.LastOfLog())
		read <- err
	}()
	server.Start()
	if err := <-read; err != nil {
		t.Errorf("a read that waits: %v", err)
	}
	p.Reset()
	if _, err := p.Read(t.Context(), wire.LastOfLog()); err != nil {
		t.Errorf("after the reset: %v", err)
	}
}

// TestDeadConnection checks that a connection is replaced after an attempt without an answer.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	network, swallow := eventstoretest.Swallowed(t, filled(t).Address())
	p := open(t, fmt.Sprintf("esdb://%s?tls=false", network.Addr()), 300*time.Millisecond)
	if _, err := p.Read(t.Context(), wire.LastOfLog()); err != nil {
		t.Fatal(err)
	}
	swallow()
	if _, err := p.Try(t.Context(), wire.LastOfLog()); !errors.Is(err, eventlog.ErrUnavailable) ||
		!errors.Is(err, eventlog.ErrNoAnswer) {
		t.Fatalf("a silent event store: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := p.Try(ended, wire.LastOfLog()); !errors.Is(err, eventlog.ErrUnavailable) ||
		errors.Is(err, eventlog.ErrNoAnswer) {
		t.Errorf("without time: %v", err)
	}
	if _, err := p.Try(t.Context(), wire.LastOfLog()); err != nil {
		t.Errorf("over another connection: %v", err)
	}
}
