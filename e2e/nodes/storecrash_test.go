package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"linkledger/e2e/e2etest"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
)

// storeWriters is the number of concurrent writers.
const storeWriters = 64

// storeLedger records which events the event store acknowledged and which it delivered.
type storeLedger struct {
	mu           sync.Mutex
	acknowledged map[uuid.UUID]eventstore.Position // by event id
	delivered    map[uuid.UUID]eventstore.Position
	repeated     int
	checkpoint   eventstore.Position // of the subscriber, as its database would keep it
}

func newStoreLedger() *storeLedger {
	return &storeLedger{
		acknowledged: map[uuid.UUID]eventstore.Position{}, delivered: map[uuid.UUID]eventstore.Position{},
	}
}

// write appends to a stream of its own until the store ends.
func (l *storeLedger) write(ctx context.Context, store *eventstore.Store, writer int) {
	stream := fmt.Sprintf("url-%d-%s", writer, uuid.NewString())
	for revision := eventstore.NoStream; ; revision++ {
		command := uuid.New()
		appended, err := store.Append(ctx, eventstore.Write{
			Stream: stream, Expected: revision, Command: command,
			Events: []events.Event{
				events.URLRetargeted{LongURL: fmt.Sprintf("https://example.com/%d/%d", writer, revision)},
			},
		})
		if err != nil {
			return
		}
		l.mu.Lock()
		l.acknowledged[eventstore.EventID(command, stream, 0)] = appended.Position
		l.mu.Unlock()
	}
}

// follow reads from the checkpoint until ctx ends or done returns true.
func (l *storeLedger) follow(ctx context.Context, t *testing.T, store *eventstore.Store, done func() bool) {
	t.Helper()
	subscriber := subscription.New(store, subscription.Config{
		Filter: eventstore.Filter{Streams: []string{"url-"}}, OnError: func(err error) { t.Log(err) },
		Checkpoint: func(context.Context) (eventstore.Position, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.checkpoint, nil
		},
	})
	defer func() {
		if err := subscriber.Close(); err != nil {
			t.Error(err)
		}
	}()
	batches, err := subscriber.Subscribe(ctx, "ledger")
	if err != nil {
		t.Error(err)
		return
	}
	for batch := range batches {
		l.take(batch)
		if done() {
			return
		}
	}
}

func (l *storeLedger) take(batch *message.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	received := subscription.BatchOf(batch)
	for _, event := range received.Events {
		if _, known := l.delivered[event.ID]; known {
			l.repeated++
		}
		l.delivered[event.ID] = event.Position
	}
	l.checkpoint = received.Position
	batch.Ack()
}

// complete reports whether the subscriber has passed every acknowledged event.
func (l *storeLedger) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, position := range l.acknowledged {
		if position.After(l.checkpoint) {
			return false
		}
	}
	return true
}

// compare checks that each acknowledged event was delivered once, at the acknowledged position.
func (l *storeLedger) compare(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, position := range l.acknowledged {
		if l.delivered[id] != position {
			t.Errorf("event %s was acknowledged at %s and delivered at %s", id, position, l.delivered[id])
		}
	}
	if l.repeated > 0 {
		t.Errorf("%d events were delivered more than once", l.repeated)
	}
}

// TestEventStoreCrash kills the real event store under 64 writers several times. Acknowledged
// events must be there, the store's check must find no damage, a subscriber that resumes from its
// checkpoint must miss no event, and no delivered event may be gone.
func TestEventStoreCrash(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "events")
	l := newStoreLedger()
	for round := range *e2etest.CrashRounds {
		process := e2etest.StartStore(t, folder)
		store := e2etest.OpenStore(t, process.URL)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { l.follow(ctx, t, store, func() bool { return false }) })
		for writer := range storeWriters {
			all.Go(func() { l.write(ctx, store, writer) })
		}
		select {
		case <-time.After(time.Duration(1+round%4) * 300 * time.Millisecond):
		case <-process.Ended:
			t.Error("the event store ended by itself")
		}
		process.Kill()
		cancel()
		all.Wait()
		store.Close()
		if out, log, code := e2etest.Command(t, "eventstore", "check", folder); code != 0 {
			t.Fatalf("check after crash %d: %d\n%s%s", round+1, code, out, log)
		}
	}
	process := e2etest.StartStore(t, folder)
	store := e2etest.OpenStore(t, process.URL)
	ctx, cancel := context.WithTimeoutCause(t.Context(), e2etest.StartTimeout, errors.New("the subscriber did not catch up"))
	defer cancel()
	if !l.complete() {
		l.follow(ctx, t, store, l.complete)
	}
	l.compare(t)
	again := newStoreLedger() // from the start, because no crash may have erased a delivered event
	again.acknowledged = l.delivered
	again.follow(ctx, t, store, again.complete)
	again.compare(t)
	store.Close()
	process.Interrupt()
	t.Logf("%d rounds: %d events acknowledged, all there", *e2etest.CrashRounds, len(l.acknowledged))
	if len(l.acknowledged) == 0 {
		t.Error("no load was put on the event store")
	}
}
