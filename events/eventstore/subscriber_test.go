package eventstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// reader applies batches as a projection does: events and position together.
type reader struct {
	mu         sync.Mutex
	checkpoint eventstore.Position
	labels     []string
	errs       []error
}

func (r *reader) read(context.Context) (eventstore.Position, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checkpoint, nil
}

func (r *reader) apply(t *testing.T, batch eventstore.Batch) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, recorded := range batch.Events {
		e, err := recorded.Event()
		if err != nil {
			t.Error(err)
			continue
		}
		if created, ok := e.(events.TagCreated); ok {
			r.labels = append(r.labels, created.Label)
		}
		if !recorded.Position.After(r.checkpoint) || recorded.Position.After(batch.Position) {
			t.Errorf("event at %v, checkpoint %v, batch up to %v", recorded.Position, r.checkpoint, batch.Position)
		}
	}
	r.checkpoint = batch.Position
}

func (r *reader) subscribe(t *testing.T, store *eventstore.Store, size int) <-chan *message.Message {
	t.Helper()
	return r.follow(t, store, eventstore.SubscriberConfig{BatchSize: size})
}

func (r *reader) follow(t *testing.T, store *eventstore.Store, cfg eventstore.SubscriberConfig) <-chan *message.Message {
	t.Helper()
	cfg.Filter, cfg.Checkpoint = eventstore.Filter{Streams: []string{events.StreamTags}}, r.read
	cfg.OnError = func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
	subscriber := eventstore.NewSubscriber(store, cfg)
	messages, err := subscriber.Subscribe(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := subscriber.Close(); err != nil {
			t.Error(err)
		}
		if m, open := <-messages; open {
			t.Errorf("a message after Close: %v", m)
		}
	})
	return messages
}

// until applies batches until n events have arrived, and checks that they are those, in order.
func (r *reader) until(t *testing.T, messages <-chan *message.Message, n int) {
	t.Helper()
	for len(r.labels) < n {
		m := <-messages
		r.apply(t, eventstore.BatchOf(m))
		m.Ack()
	}
	for i, label := range r.labels {
		if label != fmt.Sprint(i) {
			t.Fatalf("event %d is %s: lost, repeated or out of order", i, label)
		}
	}
}

// appendNumbers appends events that are numbered from..to-1, each to a stream of its own, among others that do not match.
func appendNumbers(t *testing.T, store *eventstore.Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		for _, stream := range []string{"tags-", "other-"} {
			w := write(fmt.Sprintf("%s%d", stream, i), eventstore.NoStream, uuid.New(), fmt.Sprint(i))
			if _, err := store.Append(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSubscriberCatchesUpAndGoesOnLive(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	appendNumbers(t, store, 0, 100)
	var r reader
	messages := r.subscribe(t, store, 7)
	r.until(t, messages, 100)
	appendNumbers(t, store, 100, 120)
	r.until(t, messages, 120)
}

// What comes soon after a batch that nobody waits for comes later and together, whole and in order.
func TestRest(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	appendNumbers(t, store, 0, 10)
	var r reader
	messages := r.follow(t, store, eventstore.SubscriberConfig{Rests: true, MinPatience: time.Second, MaxPatience: time.Second})
	for caughtUp := false; !caughtUp; {
		m := <-messages
		caughtUp = eventstore.BatchOf(m).CaughtUp
		r.apply(t, eventstore.BatchOf(m))
		m.Ack()
	}
	appendNumbers(t, store, 10, 50)
	batches := 0
	for len(r.labels) < 50 {
		m := <-messages
		batches++
		r.apply(t, eventstore.BatchOf(m))
		m.Ack()
	}
	r.until(t, messages, 50) // in order
	if batches > 20 {
		t.Errorf("40 events came in %d batches", batches)
	}
	if len(r.errs) > 0 {
		t.Errorf("a rest is told as an error: %v", r.errs)
	}
}

// A rest ends for who waits, whether that was known before the event came or after it.
func TestDemandEndsARest(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		store, demand := eventstoretest.New(t), eventstore.NewDemand()
		appendNumbers(t, store, 0, 10)
		var r reader
		messages := r.follow(t, store, eventstore.SubscriberConfig{Rests: true, Demand: demand, MinPatience: time.Hour, MaxPatience: time.Hour})
		for caughtUp := false; !caughtUp; {
			m := <-messages
			caughtUp = eventstore.BatchOf(m).CaughtUp
			r.apply(t, eventstore.BatchOf(m))
			m.Ack()
		}
		if before {
			demand.Raise(1 << 62)
		}
		appendNumbers(t, store, 10, 12)
		demand.Raise(1 << 62)
		r.until(t, messages, 12)
	}
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	appendNumbers(t, store, 0, 50)
	var r reader
	messages := r.subscribe(t, store, 7)
	for len(r.labels) < 50 {
		m := <-messages
		batch := eventstore.BatchOf(m)
		if len(batch.Events) > 7 {
			t.Fatalf("a batch of %d", len(batch.Events))
		}
		r.apply(t, batch)
		m.Ack()
	}
}

// A log without anything that matches is caught up with too, or its reader would look behind for ever.
func TestPositionMovesWithoutEvents(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	last, err := store.Append(t.Context(), write("other-1", eventstore.NoStream, uuid.New(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	var r reader
	messages := r.subscribe(t, store, 10)
	for last.Position.After(r.checkpoint) {
		m := <-messages
		r.apply(t, eventstore.BatchOf(m))
		m.Ack()
	}
	if len(r.labels) != 0 {
		t.Errorf("got %v", r.labels)
	}
}

// A refused batch was perhaps committed and perhaps not: the next one begins behind the checkpoint, whatever it says.
func TestNackGoesOnFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	appendNumbers(t, store, 0, 20)
	var r reader
	messages := r.subscribe(t, store, 5)
	for i := range 6 {
		m := <-messages
		if i%2 == 0 {
			r.apply(t, eventstore.BatchOf(m)) // committed, and then the connection broke
		}
		m.Nack()
	}
	r.until(t, messages, 20)
}

func TestSubscriberOutlivesTheStore(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	appendNumbers(t, store, 0, 10)
	var r reader
	messages := r.subscribe(t, store, 100)
	r.until(t, messages, 10)
	for round := 1; round <= 3; round++ {
		server.Stop()
		server.Start()
		appendNumbers(t, store, 10*round, 10*round+10)
		r.until(t, messages, 10*round+10)
	}
}

// Writers go on through restarts of the store, and every command is applied exactly once.
func TestAppendsOutliveTheStore(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	const writers, each = 16, 60
	var all sync.WaitGroup
	progress := make(chan struct{}, writers*each)
	for writer := range writers {
		all.Go(func() {
			stream, last := fmt.Sprintf("tags-%d", writer), eventstore.NoStream
			for i := range each {
				appended, err := store.Append(t.Context(), write(stream, last, uuid.New(), fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
					return
				}
				last = appended.Revision
				progress <- struct{}{}
			}
		})
	}
	for range 3 {
		for range writers * each / 5 {
			<-progress
		}
		server.Stop()
		server.Start()
	}
	all.Wait()
	for writer := range writers {
		loaded, err := store.Load(t.Context(), fmt.Sprintf("tags-%d", writer))
		if err != nil || len(loaded) != each {
			t.Fatalf("writer %d: %d of %d events, %v", writer, len(loaded), each, err)
		}
		for i, r := range loaded {
			e, err := r.Event()
			if created, ok := e.(events.TagCreated); err != nil || !ok || created.Label != fmt.Sprint(i) {
				t.Fatalf("writer %d, event %d: %+v, %v", writer, i, e, err)
			}
		}
	}
}

// TestBacklog counts what matches behind a position, and estimates where there is more than it counts.
func TestBacklog(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	filter := eventstore.Filter{Streams: []string{events.StreamTags}}
	if b, err := store.Backlog(t.Context(), eventstore.Position{}, filter, 10); b != (eventstore.Backlog{}) || err != nil {
		t.Errorf("backlog of an empty log: %+v, %v", b, err)
	}
	appendNumbers(t, store, 0, 50)
	all, err := store.Backlog(t.Context(), eventstore.Position{}, filter, 1000)
	if err != nil || all.Events != 50 || all.Oldest.IsZero() {
		t.Errorf("backlog of everything: %+v, %v", all, err)
	}
	some, err := store.Backlog(t.Context(), eventstore.Position{}, filter, 10)
	if err != nil || some.Events < 40 || some.Events > 60 || !some.Oldest.Equal(all.Oldest) {
		t.Errorf("estimate: %+v, %v", some, err)
	}
	for kind, want := range map[string]int{events.TagCreated{}.EventType(): 100, "tag.": 100, events.TagDeleted{}.EventType(): 0} {
		byType := eventstore.Filter{Types: []string{"none.", kind}}
		if b, err := store.Backlog(t.Context(), eventstore.Position{}, byType, 1000); b.Events != want || err != nil {
			t.Errorf("backlog of %s: %+v, %v", kind, b, err)
		}
	}
	head, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := store.Backlog(t.Context(), head, filter, 10); b.Events != 0 || err != nil {
		t.Errorf("backlog behind the end: %+v, %v", b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Backlog(ctx, eventstore.Position{}, filter, 10); err == nil {
		t.Error("a cancelled count succeeded")
	}
}
