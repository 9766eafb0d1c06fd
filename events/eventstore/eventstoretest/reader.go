package eventstoretest

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
)

// Reader applies batches as a projection does: it updates its labels and its checkpoint together.
type Reader struct {
	mu         sync.Mutex
	Checkpoint eventstore.Position
	Labels     []string // labels of the tags, in the order of their events
	Errors     []error  // errors that ended subscriptions
}

// Read returns the checkpoint.
func (r *Reader) Read(context.Context) (eventstore.Position, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Checkpoint, nil
}

// Apply applies a batch and checks its positions.
func (r *Reader) Apply(t testing.TB, batch subscription.Batch) {
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
			r.Labels = append(r.Labels, created.Label)
		}
		if !recorded.Position.After(r.Checkpoint) || recorded.Position.After(batch.Position) {
			t.Errorf(
				"event at %v, checkpoint %v, batch up to %v", recorded.Position, r.Checkpoint,
				batch.Position,
			)
		}
	}
	r.Checkpoint = batch.Position
}

// Subscribe subscribes to tags in batches of at most size events.
func (r *Reader) Subscribe(
	t testing.TB, store *eventstore.Store, size int,
) <-chan *message.Message {
	t.Helper()
	return r.Follow(t, store, subscription.Config{BatchSize: size})
}

// Follow subscribes to tags with a configuration until the test ends.
func (r *Reader) Follow(
	t testing.TB, store *eventstore.Store, cfg subscription.Config,
) <-chan *message.Message {
	t.Helper()
	cfg.Filter, cfg.Checkpoint = eventstore.Filter{Streams: []string{events.StreamTags}}, r.Read
	cfg.OnError = func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Errors = append(r.Errors, err)
	}
	subscriber := subscription.New(store, cfg)
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

// Until applies batches until n events have arrived. It checks that the labels are the numbers from
// 0 on, in order.
func (r *Reader) Until(t testing.TB, messages <-chan *message.Message, n int) {
	t.Helper()
	for len(r.Labels) < n {
		m := <-messages
		r.Apply(t, subscription.BatchOf(m))
		m.Ack()
	}
	for i, label := range r.Labels {
		if label != strconv.Itoa(i) {
			t.Fatalf("event %d is %s: lost, repeated or out of order", i, label)
		}
	}
}
