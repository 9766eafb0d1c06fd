package projectionstest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
)

// Run starts all projections and returns a function that stops them. They also stop when the test
// ends.
func Run(t testing.TB, cfg engine.Config) (stop func()) {
	t.Helper()
	return RunSet(t, projections.All(), cfg)
}

// RunSet starts projections.
func RunSet(t testing.TB, set projection.Set, cfg engine.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx, set, cfg) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// AwaitStatus waits until the status of each projection meets a condition.
func AwaitStatus(t testing.TB, board *status.Registry, says func(status.Status) bool) {
	t.Helper()
	ctx := Context(t)
	for {
		statuses := board.All()
		if len(statuses) >= len(projections.All()) &&
			!slices.ContainsFunc(statuses, func(s status.Status) bool { return !says(s) }) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the statuses are %+v", statuses)
		case <-time.After(time.Millisecond):
		}
	}
}

// Progress records how far projections are, for tests that wait for it.
type Progress struct {
	mu      sync.Mutex
	at      map[string]uint64
	changed chan struct{}
}

// NewProgress returns a Progress of projections that have not begun.
func NewProgress() *Progress {
	return &Progress{at: make(map[string]uint64), changed: make(chan struct{})}
}

// Advance records a commit. It is an engine.Config.OnCommit.
func (p *Progress) Advance(name string, position uint64, _ []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[name] = max(p.at[name], position)
	close(p.changed)
	p.changed = make(chan struct{})
}

// Wait waits until projections have reached a position.
func (p *Progress) Wait(t testing.TB, position uint64, names ...string) {
	t.Helper()
	ctx := Context(t)
	for {
		p.mu.Lock()
		behind, changed := "", p.changed
		for _, name := range names {
			if p.at[name] < position {
				behind = fmt.Sprintf("%s is at %d, not %d", name, p.at[name], position)
			}
		}
		p.mu.Unlock()
		if behind == "" {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal(behind)
		}
	}
}

// Writer appends events to streams that nothing else writes to.
type Writer struct {
	// Revisions has the last revision of each stream.
	Revisions map[string]eventstore.Revision

	t     testing.TB
	store *eventstore.Store
}

// NewWriter returns a Writer to a new log.
func NewWriter(t testing.TB, store *eventstore.Store) *Writer {
	t.Helper()
	return &Writer{t: t, store: store, Revisions: make(map[string]eventstore.Revision)}
}

// Append appends events and returns the commit position of the last one.
func (w *Writer) Append(stream string, es ...events.Event) uint64 {
	w.t.Helper()
	expected, ok := w.Revisions[stream]
	if !ok {
		expected = eventstore.NoStream
	}
	appended, err := w.store.Append(Context(w.t), eventstore.Write{
		Stream: stream, Expected: expected, Command: uuid.New(), Events: es,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Revisions[stream] = appended.Revision
	return appended.Position.Commit
}

// Account opens an account.
func (w *Writer) Account() uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.Append(events.StreamAccount+id.String(), events.AccountOpened{
		Account: id.String(), Username: id.String(), At: logtest.Noon,
	})
	return id
}

// Link creates a link of an account. It returns the id and the commit position.
func (w *Writer) Link(account uuid.UUID, hash string) (uuid.UUID, uint64) {
	w.t.Helper()
	id := uuid.New()
	return id, w.Append(events.StreamURL+id.String(), events.URLCreated{
		URLID: id.String(), Account: account.String(), Hash: hash, LongURL: "https://example.com/",
		At: logtest.Noon,
	})
}

// Click records a click of a link to a stream of clicks.
func (w *Writer) Click(stream string, link uuid.UUID, visitor string) uint64 {
	w.t.Helper()
	return w.Append(events.StreamClicks+stream, events.ClicksRecorded{
		Clicks: []events.Click{{URLID: link.String(), Visitor: visitor, At: logtest.Noon}},
	})
}

// TagCreated returns the creation of a new tag of an account.
func TagCreated(account uuid.UUID) events.TagCreated {
	return events.TagCreated{
		TagID: uuid.NewString(), Account: account.String(), Label: "news", At: logtest.Noon,
	}
}
