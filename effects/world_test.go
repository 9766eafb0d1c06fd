package effects_test

// This file has the effect of the tests, and the processes that run it.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/effects"
	"linkledger/effects/outbox"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }

// delivery is a message as a receiver got it.
type delivery struct {
	receiver, id uuid.UUID
	subject      string
	number       int
}

// world is what the effect of a test acts on. A tag whose label is "receiver" is a receiver. The labels of
// other tags, such as "a 7", are a subject and a number, and each receiver gets a message for each of them.
type world struct {
	*projectionstest.Writer
	t     *testing.T
	db    *readmodel.DB
	store *eventstore.Store

	mu        sync.Mutex
	got       []delivery
	suspended map[uuid.UUID]string
	changed   chan struct{} // has an element after each delivery or suspension
	// outcome answers an attempt; nil: every attempt succeeds.
	outcome func(ctx context.Context, d delivery) outbox.Outcome
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store := eventstoretest.New(t)
	return &world{
		Writer: projectionstest.NewWriter(t, store), t: t, db: projectionstest.Open(t), store: store,
		suspended: make(map[uuid.UUID]string), changed: make(chan struct{}, 1),
	}
}

func (w *world) effect() effects.Effect {
	filter := eventstore.Filter{Streams: []string{events.StreamTags}}
	return effects.Effect{
		Name: "test", Filter: filter, Registers: filter, Begin: w.begin, Do: w.do,
		Suspend: func(_ context.Context, of outbox.Receiver, reason string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.suspended[of.ID] = reason
			w.notify()
			return nil
		},
	}
}

func (w *world) begin(_ context.Context, known []outbox.Receiver) (effects.Plan, error) {
	receivers := make(map[uuid.UUID]outbox.Receiver)
	for _, r := range known {
		receivers[r.ID] = r
	}
	return func(_ context.Context, batch []eventstore.Recorded) (changes outbox.Changes, err error) {
		for _, r := range batch {
			body, err := r.Event()
			if err != nil {
				return changes, err
			}
			switch e := body.(type) {
			case events.TagDeleted:
				id := uuid.MustParse(e.TagID)
				delete(receivers, id)
				changes.Remove = append(changes.Remove, id)
			case events.TagRenamed: // closes a receiver, or opens it again
				receiver := receivers[uuid.MustParse(e.TagID)]
				receiver.Open = e.Label != "close"
				receivers[receiver.ID] = receiver
				changes.Set = append(changes.Set, receiver)
			case events.TagCreated:
				if e.Label == "receiver" {
					id := uuid.MustParse(e.TagID)
					receivers[id] = outbox.Receiver{
						ID: id, Account: uuid.MustParse(e.Account), Config: json.RawMessage(`{}`), Open: true,
					}
					changes.Set = append(changes.Set, receivers[id])
					continue
				}
				subject, _, _ := strings.Cut(e.Label, " ")
				for id := range receivers {
					changes.Messages = append(changes.Messages, outbox.Message{
						ID: r.ID, Receiver: id, Subject: subject, Commit: r.Position.Commit, At: r.Time,
						Kind: "tag", Body: []byte(e.Label),
					})
				}
			}
		}
		return changes, nil
	}, nil
}

func (w *world) do(ctx context.Context, to outbox.Receiver, m outbox.Message) outbox.Outcome {
	d := delivery{receiver: to.ID, id: m.ID}
	if _, err := fmt.Sscanf(string(m.Body), "%s %d", &d.subject, &d.number); err != nil {
		panic(err)
	}
	w.mu.Lock()
	answer := w.outcome
	w.mu.Unlock()
	if answer != nil {
		if got := answer(ctx, d); !got.Delivered {
			return got
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, d)
	w.notify()
	return outbox.Outcome{Delivered: true, Status: 200}
}

func (w *world) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// await waits until says is true of the deliveries.
func (w *world) await(says func(got []delivery) bool) {
	w.t.Helper()
	ctx := projectionstest.Context(w.t)
	for {
		w.mu.Lock()
		done := says(w.got)
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			w.t.Fatalf("waited in vain; there are %d deliveries", len(w.got))
		}
	}
}

// receiver makes a receiver and returns its id.
func (w *world) receiver() uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.Append(events.StreamTags+id.String(), events.TagCreated{
		TagID: id.String(), Account: uuid.NewString(), Label: "receiver", At: time.Now(),
	})
	return id
}

// say appends an event that each receiver gets a message about.
func (w *world) say(subject string, number int) {
	w.t.Helper()
	id := uuid.NewString()
	w.Append(events.StreamTags+id, events.TagCreated{
		TagID: id, Account: id, Label: fmt.Sprintf("%s %d", subject, number), At: time.Now(),
	})
}

// start runs a process until stop is called or the test ends.
func (w *world) start(catchUp effects.CatchUp) (stop func()) {
	w.t.Helper()
	owner := uuid.NewString()
	leave := projectionstest.Present(w.t, w.db, owner)
	cfg := effects.Config{
		Pool: w.db.Writers, Store: w.store, Owner: owner, CatchUp: catchUp, Logger: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { effects.Run(ctx, w.effect(), cfg) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		leave()
	})
	w.t.Cleanup(stop)
	return stop
}

// begun waits until the effect has begun.
func (w *world) begun() {
	w.t.Helper()
	w.awaitRows("SELECT count(*) FROM linkledger_durable.effects WHERE epoch > 0", 1)
}

// awaitRows waits until a query selects a number.
func (w *world) awaitRows(query string, want int64) {
	w.t.Helper()
	ctx := projectionstest.Context(w.t)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for projectionstest.Count(w.t, w.db, query) != want {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			w.t.Fatalf("waited in vain for %d rows of %s", want, query)
		}
	}
}

// letRetriesBeDue makes all messages due, as if time had passed.
func (w *world) letRetriesBeDue() {
	projectionstest.Exec(w.t, w.db, "UPDATE linkledger_durable.receivers SET retry_at = '-infinity' WHERE retry_at > now()")
	projectionstest.Exec(w.t, w.db, "UPDATE linkledger_durable.queues SET due_at = now() WHERE due_at > now() AND claim IS NULL")
}

// firsts returns the numbers that a receiver got about a subject, without repeated messages.
func firsts(got []delivery, receiver uuid.UUID, subject string) (numbers []int) {
	seen := make(map[uuid.UUID]bool)
	for _, d := range got {
		if d.receiver == receiver && d.subject == subject && !seen[d.id] {
			seen[d.id] = true
			numbers = append(numbers, d.number)
		}
	}
	return numbers
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

func equal(t *testing.T, what string, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// closes appends an event that closes a receiver, as the suspension of a webhook does.
func (w *world) closes(receiver uuid.UUID) {
	w.t.Helper()
	w.Append(events.StreamTags+receiver.String(), events.TagRenamed{TagID: receiver.String(), Label: "close", At: time.Now()})
	w.awaitRows("SELECT count(*) FROM linkledger_durable.receivers WHERE NOT open", 1)
}
