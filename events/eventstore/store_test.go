package eventstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMain(m *testing.M) {
	eventstoretest.Main(m)
}

func TestAppendAndLoad(t *testing.T) {
	t.Parallel()
	store, ctx := eventstoretest.New(t), t.Context()

	if loaded, err := store.Load(ctx, "tags-a"); err != nil || len(loaded) != 0 {
		t.Fatalf("a missing stream: %v, %v", loaded, err)
	}
	first, err := store.Append(ctx, eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), "a", "b"))
	if err != nil || first.Revision != 1 {
		t.Fatalf("first append: %+v, %v", first, err)
	}
	second, err := store.Append(ctx, eventstoretest.TagWrite("tags-a", 1, uuid.New(), "c"))
	if err != nil || second.Revision != 2 || !second.Position.After(first.Position) {
		t.Fatalf("second append: %+v after %+v, %v", second, first, err)
	}
	loaded, err := store.Load(ctx, "tags-a")
	if err != nil || eventstoretest.Labels(t, loaded) != "a b c" {
		t.Fatalf("loaded %v, %v", loaded, err)
	}
	if loaded[2].Position != second.Position || loaded[1].Position != first.Position {
		t.Errorf("the positions of the appends are not those of their last events")
	}
	if head, err := store.Head(ctx); err != nil || head.After(second.Position) {
		t.Errorf("head %v, last append %v, %v", head, second.Position, err)
	}
}

func TestLoadPages(t *testing.T) {
	t.Parallel()
	store, ctx := eventstoretest.New(t), t.Context()
	many := make([]string, 1200)
	for i := range many {
		many[i] = "x"
	}
	if _, err := store.Append(
		ctx, eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), many...),
	); err != nil {
		t.Fatal(err)
	}
	loaded, err := store.Load(ctx, "tags-a")
	if err != nil || len(loaded) != len(many) {
		t.Fatalf("loaded %d of %d, %v", len(loaded), len(many), err)
	}
	for i, r := range loaded {
		if r.Revision != eventstore.Revision(i) {
			t.Fatalf("event %d has revision %d", i, r.Revision)
		}
	}
}

func TestWrongRevision(t *testing.T) {
	t.Parallel()
	store, ctx := eventstoretest.New(t), t.Context()
	if _, err := store.Append(
		ctx, eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), "a"),
	); err != nil {
		t.Fatal(err)
	}
	for _, expected := range []eventstore.Revision{eventstore.NoStream, 1, 7} {
		_, err := store.Append(ctx, eventstoretest.TagWrite("tags-a", expected, uuid.New(), "b"))
		if !errors.Is(err, eventstore.ErrWrongRevision) {
			t.Errorf("expected %d: %v", expected, err)
		}
	}
}

func TestRepeatedAppendIsOne(t *testing.T) {
	t.Parallel()
	store, ctx := eventstoretest.New(t), t.Context()
	command := uuid.New()
	first, err := store.Append(ctx, eventstoretest.TagWrite("tags-a", eventstore.NoStream, command, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Append(ctx, eventstoretest.TagWrite("tags-a", 0, uuid.New(), "b")); err != nil {
		t.Fatal(err)
	}
	again, err := store.Append(ctx, eventstoretest.TagWrite("tags-a", eventstore.NoStream, command, "a"))
	if err != nil || again != first {
		t.Fatalf("repeated: %+v, first: %+v, %v", again, first, err)
	}
	if loaded, err := store.Load(ctx, "tags-a"); err != nil || eventstoretest.Labels(t, loaded) != "a b" {
		t.Fatalf("loaded %v, %v", loaded, err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	_, err := store.Append(
		t.Context(),
		eventstoretest.TagWrite(
			"tags-a", eventstore.NoStream, uuid.New(), strings.Repeat("x", eventstore.MaxAppendSize),
		),
	)
	if !errors.Is(err, eventstore.ErrTooLarge) {
		t.Fatal(err)
	}
}

func TestLoadOfStreamsThatAreGone(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	w := eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), "a")
	if _, err := store.Append(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	config, err := esdb.ParseConnectionString(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client, err := esdb.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := client.TombstoneStream(t.Context(), w.Stream, esdb.TombstoneStreamOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), w.Stream); !errors.Is(err, eventstore.ErrStreamDeleted) {
		t.Errorf("load of a deleted stream: %v", err)
	}
	if _, err := store.Last(t.Context(), "tags-none"); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("last event of no stream: %v", err)
	}
	store.Close()
	if _, err := store.Load(t.Context(), w.Stream); !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("load after close: %v", err)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, "esdb://127.0.0.1:1?tls=false") // no server listens there
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for range 8 {
		go func() {
			_, err := store.Load(ctx, "tags-a")
			ended <- err
		}()
	}
	cancel()
	for range 8 {
		if err := <-ended; !errors.Is(err, eventstore.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// TestDate asks the event store for its time.
func TestDate(t *testing.T) {
	t.Parallel()
	s := eventstoretest.Open(t, eventstoretest.Serve(t).URL())
	began := time.Now().Truncate(time.Second)
	at, err := s.Date(t.Context())
	if err != nil || at.Before(began) || at.After(time.Now()) {
		t.Errorf("%s, %v; asked at %s", at, err, began)
	}
}
