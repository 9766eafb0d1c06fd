package subscription_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

func TestSubscriberCatchesUpAndGoesOnLive(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	eventstoretest.AppendNumbers(t, store, 0, 100)
	var r eventstoretest.Reader
	messages := r.Subscribe(t, store, 7)
	r.Until(t, messages, 100)
	eventstoretest.AppendNumbers(t, store, 100, 120)
	r.Until(t, messages, 120)
}

// TestRest checks that events that arrive soon after a delayable batch are delivered later and
// together, completely and in order.
func TestRest(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	eventstoretest.AppendNumbers(t, store, 0, 10)
	var r eventstoretest.Reader
	messages := r.Follow(t, store, subscription.Config{NeverAwaited: true, MinDelay: time.Second, MaxDelay: time.Second})
	for caughtUp := false; !caughtUp; {
		m := <-messages
		caughtUp = subscription.BatchOf(m).CaughtUp
		r.Apply(t, subscription.BatchOf(m))
		m.Ack()
	}
	eventstoretest.AppendNumbers(t, store, 10, 50)
	batches := 0
	for len(r.Labels) < 50 {
		m := <-messages
		batches++
		r.Apply(t, subscription.BatchOf(m))
		m.Ack()
	}
	r.Until(t, messages, 50) // in order
	if batches > 20 {
		t.Errorf("40 events were delivered in %d batches", batches)
	}
	if len(r.Errors) > 0 {
		t.Errorf("a rest is reported as an error: %v", r.Errors)
	}
}

// TestDemandEndsARest checks that a demand ends a rest, whether it is raised before or after the
// event arrives.
func TestDemandEndsARest(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		store, demand := eventstoretest.New(t), subscription.NewDemand()
		eventstoretest.AppendNumbers(t, store, 0, 10)
		var r eventstoretest.Reader
		messages := r.Follow(
			t, store, subscription.Config{NeverAwaited: true, Demand: demand, MinDelay: time.Hour, MaxDelay: time.Hour},
		)
		for caughtUp := false; !caughtUp; {
			m := <-messages
			caughtUp = subscription.BatchOf(m).CaughtUp
			r.Apply(t, subscription.BatchOf(m))
			m.Ack()
		}
		if before {
			demand.Raise(1 << 62)
		}
		eventstoretest.AppendNumbers(t, store, 10, 12)
		demand.Raise(1 << 62)
		r.Until(t, messages, 12)
	}
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	eventstoretest.AppendNumbers(t, store, 0, 50)
	var r eventstoretest.Reader
	messages := r.Subscribe(t, store, 7)
	for len(r.Labels) < 50 {
		m := <-messages
		batch := subscription.BatchOf(m)
		if len(batch.Events) > 7 {
			t.Fatalf("a batch of %d", len(batch.Events))
		}
		r.Apply(t, batch)
		m.Ack()
	}
}

// TestPositionMovesWithoutEvents checks that a subscription also catches up with a log that has no
// matching events. Otherwise its reader would appear to lag forever.
func TestPositionMovesWithoutEvents(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	last, err := store.Append(t.Context(), eventstoretest.TagWrite("other-1", eventstore.NoStream, uuid.New(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	var r eventstoretest.Reader
	messages := r.Subscribe(t, store, 10)
	for last.Position.After(r.Checkpoint) {
		m := <-messages
		r.Apply(t, subscription.BatchOf(m))
		m.Ack()
	}
	if len(r.Labels) != 0 {
		t.Errorf("got %v", r.Labels)
	}
}

// TestNackGoesOnFromTheCheckpoint checks that the batch after a nack begins after the checkpoint,
// whether or not the nacked batch was committed.
func TestNackGoesOnFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	eventstoretest.AppendNumbers(t, store, 0, 20)
	var r eventstoretest.Reader
	messages := r.Subscribe(t, store, 5)
	for i := range 6 {
		m := <-messages
		if i%2 == 0 {
			r.Apply(t, subscription.BatchOf(m)) // committed before the connection broke
		}
		m.Nack()
	}
	r.Until(t, messages, 20)
}

func TestSubscriberOutlivesTheStore(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	eventstoretest.AppendNumbers(t, store, 0, 10)
	var r eventstoretest.Reader
	messages := r.Subscribe(t, store, 100)
	r.Until(t, messages, 10)
	for round := 1; round <= 3; round++ {
		server.Stop()
		server.Start()
		eventstoretest.AppendNumbers(t, store, 10*round, 10*round+10)
		r.Until(t, messages, 10*round+10)
	}
}
