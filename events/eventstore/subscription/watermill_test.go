package subscription_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
)

// TestWatermill runs the test suite of watermill for Pub/Subs. A topic is a stream and a consumer
// group is a read model. Both have one checkpoint per topic. Batches have one event, because each
// message of the suite stands for one event.
func TestWatermill(t *testing.T) {
	t.Parallel()
	store, client := connectTwice(t)
	b := &broker{t: t, store: store, client: client, checkpoints: map[string]eventstore.Position{}}
	features := tests.Features{
		ConsumerGroups:  true,
		GuaranteedOrder: true,
		Persistent:      true,
		// A batch that was applied but not acknowledged in time is delivered again. It counts once,
		// because the transaction of the read model contains the checkpoint.
		ExactlyOnceDelivery: false,
		// A subscriber begins after its checkpoint. TestWatermillOldMessages gives each subscriber
		// its own checkpoint.
		NewSubscriberReceivesOldMessages: false,
		// The suite would run a command to restart a server. The tests of outages in this module
		// cover this.
		RestartServiceCommand: nil,
		// Subscribers do not compete. Each receives all events, so a read model has one subscriber.
		RequireSingleInstance: true,
		// The long form nacks a message a hundred times in a row, and each nack increases the
		// delay.
		ForceShort: true,
	}
	tests.TestPubSub(t, features,
		func(t *testing.T) (message.Publisher, message.Subscriber) {
			t.Helper()
			return b, b.subscriber(t, "the read model")
		},
		func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
			t.Helper()
			return b, b.subscriber(t, group)
		})
}

// TestWatermillOldMessages checks that a new read model receives all events from the start.
func TestWatermillOldMessages(t *testing.T) {
	t.Parallel()
	store, client := connectTwice(t)
	b := &broker{t: t, store: store, client: client, checkpoints: map[string]eventstore.Position{}}
	context := tests.TestContext{
		TestID: tests.NewTestID(), Features: tests.Features{NewSubscriberReceivesOldMessages: true},
	}
	tests.TestNewSubscriberReceivesOldMessages(t, context, func(t *testing.T) (message.Publisher, message.Subscriber) {
		t.Helper()
		return b, b.subscriber(t, uuid.NewString())
	})
}

func connectTwice(t *testing.T) (*eventstore.Store, *esdb.Client) {
	t.Helper()
	server := eventstoretest.Serve(t)
	config, err := esdb.ParseConnectionString(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return eventstoretest.Open(t, server.URL()), client
}

// broker publishes the messages of the suite as events and stores the checkpoints of the read
// models.
type broker struct {
	t      *testing.T
	store  *eventstore.Store
	client *esdb.Client

	mu          sync.Mutex
	checkpoints map[string]eventstore.Position
}

// Publish implements message.Publisher.
func (b *broker) Publish(topic string, messages ...*message.Message) error {
	proposed := make([]esdb.EventData, len(messages))
	for i, m := range messages {
		metadata, err := json.Marshal(m.Metadata)
		if err != nil {
			return err
		}
		proposed[i] = esdb.EventData{
			EventID: uuid.MustParse(m.UUID), EventType: "message", ContentType: esdb.ContentTypeBinary,
			Data: m.Payload, Metadata: metadata,
		}
	}
	_, err := b.client.AppendToStream(b.t.Context(), stream(topic), esdb.AppendToStreamOptions{}, proposed...)
	return err
}

// Close implements message.Publisher. It does nothing, because other publishers use the same
// client.
func (b *broker) Close() error { return nil }

// stream returns the topic with a terminator, so that it is not a prefix of another topic.
func stream(topic string) string { return topic + "/" }

func (b *broker) subscriber(t *testing.T, group string) *groupSubscriber {
	t.Helper()
	s := &groupSubscriber{broker: b, group: group}
	t.Cleanup(func() { // the suite does not close all subscribers
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// groupSubscriber subscribes with one Subscriber per topic.
type groupSubscriber struct {
	broker *broker
	group  string

	mu          sync.Mutex
	subscribers []*subscription.Subscriber
	forwarding  sync.WaitGroup
}

// Subscribe implements message.Subscriber.
func (s *groupSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	key := s.group + " of " + topic
	subscriber := subscription.New(s.broker.store, subscription.Config{
		Filter: eventstore.Filter{Streams: []string{stream(topic)}}, BatchSize: 1,
		Checkpoint: func(context.Context) (eventstore.Position, error) {
			s.broker.mu.Lock()
			defer s.broker.mu.Unlock()
			return s.broker.checkpoints[key], nil
		},
	})
	batches, err := subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.subscribers = append(s.subscribers, subscriber)
	s.mu.Unlock()
	out := make(chan *message.Message)
	s.forwarding.Go(func() {
		defer close(out)
		for m := range batches {
			s.forward(m, out, key)
		}
	})
	return out, nil
}

// forward delivers a batch of one event as the message that was published. It stores its position
// after the ack.
func (s *groupSubscriber) forward(m *message.Message, out chan<- *message.Message, key string) {
	batch := subscription.BatchOf(m)
	ended := m.Context().Done()
	if len(batch.Events) > 0 {
		m.UUID, m.Payload = batch.Events[0].ID.String(), batch.Events[0].Data
		if err := json.Unmarshal(batch.Events[0].Metadata, &m.Metadata); err != nil {
			s.broker.t.Error(err)
		}
		select {
		case out <- m:
		case <-ended:
			return
		}
		select {
		case <-m.Acked():
		case <-m.Nacked():
			return
		case <-ended:
			return
		}
	}
	s.broker.mu.Lock()
	if batch.Position.After(s.broker.checkpoints[key]) {
		s.broker.checkpoints[key] = batch.Position
	}
	s.broker.mu.Unlock()
	m.Ack()
}

// Close implements message.Subscriber.
func (s *groupSubscriber) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, subscriber := range s.subscribers {
		if err := subscriber.Close(); err != nil {
			return err
		}
	}
	s.forwarding.Wait()
	return nil
}
