package subscription_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
)

// TestOneBatchAtATime checks that a Subscriber waits for each ack before it sends the next batch.
// Otherwise the order would be lost, because the Router of watermill starts a goroutine per
// message.
func TestOneBatchAtATime(t *testing.T) {
	t.Parallel()
	const n = 200
	store := eventstoretest.New(t)
	eventstoretest.AppendNumbers(t, store, 0, n)
	var r eventstoretest.Reader
	subscriber := subscription.New(
		store,
		subscription.Config{Filter: eventstore.Filter{Streams: []string{"tags-"}}, Checkpoint: r.Read, BatchSize: 1},
	)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := context.WithCancel(t.Context())
	defer done()
	var inFlight atomic.Int32
	router.AddConsumerHandler("test", "test", subscriber, func(m *message.Message) error {
		if inFlight.Add(1) != 1 {
			t.Error("two batches are delivered at the same time")
		}
		defer inFlight.Add(-1)
		r.Apply(t, subscription.BatchOf(m))
		if len(r.Labels) >= n {
			done()
		}
		return nil
	})
	if err := router.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := subscriber.Close(); err != nil {
		t.Error(err)
	}
	r.Until(t, nil, n)
}

// TestRedeliveryWaits checks that a Subscriber waits increasingly long before it redelivers. If it
// redelivered immediately, messages that cannot succeed yet would keep a processor busy.
func TestRedeliveryWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int32
		subscriber := subscription.New(nil, subscription.Config{
			Checkpoint: func(context.Context) (eventstore.Position, error) {
				attempts.Add(1)
				return eventstore.Position{}, errors.New("no database")
			},
		})
		if _, err := subscriber.Subscribe(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		soon := attempts.Load()
		time.Sleep(time.Minute)
		synctest.Wait()
		if later := attempts.Load() - soon; soon < 3 || soon > 20 || later < 8 || later > 100 {
			t.Errorf("tried %d times within a second, %d times within the next minute", soon, later)
		}
		if err := subscriber.Close(); err != nil {
			t.Error(err)
		}
	})
}
