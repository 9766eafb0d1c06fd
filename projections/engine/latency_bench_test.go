package engine_test

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
)

// writesPerSecond is the fixed rate of BenchmarkLive. The results include the delay of late writes.
const writesPerSecond = 1000

// reachedAt is a position and the time at which everything up to it was reached.
type reachedAt struct {
	position uint64
	at       time.Time
}

// BenchmarkLive creates links at a fixed rate and measures the time from when a link was due until
// its row is visible. For comparison it measures the time until the event is durable.
func BenchmarkLive(b *testing.B) {
	db, store := projectionstest.Open(b), eventstoretest.New(b)
	var mu sync.Mutex
	var visible []reachedAt
	caughtUp := projectionstest.NewProgress()
	runOnly(b, projections.Links, engine.Config{DB: db, Store: store, OnCommit: func(
		projection string, position uint64, changed []string,
	) {
		mu.Lock()
		visible = append(visible, reachedAt{position, time.Now()})
		mu.Unlock()
		caughtUp.Advance(projection, position, changed)
	}})
	caughtUp.Wait(
		b, projectionstest.NewWriter(b, store).Append(events.StreamURL+uuid.NewString(), events.ClaimAbandoned{At: logtest.Noon}), projections.Links,
	)
	n := max(b.N, 2*writesPerSecond)
	durable, due := make([]reachedAt, n), make([]time.Time, n)
	var writes sync.WaitGroup
	b.ResetTimer()
	start := time.Now()
	for i := range n {
		due[i] = start.Add(time.Duration(i) * time.Second / writesPerSecond)
		time.Sleep(time.Until(due[i]))
		writes.Go(func() { durable[i] = createLink(b, store) })
	}
	writes.Wait()
	last := slices.MaxFunc(durable, func(a, b reachedAt) int { return cmp.Compare(a.position, b.position) })
	caughtUp.Wait(b, last.position, projections.Links)
	b.StopTimer()
	mu.Lock()
	defer mu.Unlock()
	toDurable, toVisible := make([]time.Duration, n), make([]time.Duration, n)
	for i, d := range durable {
		at, _ := slices.BinarySearchFunc(
			visible, d.position, func(v reachedAt, p uint64) int { return cmp.Compare(v.position, p) },
		)
		toDurable[i], toVisible[i] = d.at.Sub(due[i]), visible[at].at.Sub(due[i])
	}
	for unit, took := range map[string][]time.Duration{"durable": toDurable, "visible": toVisible} {
		slices.Sort(took)
		b.ReportMetric(took[n/2].Seconds()*1000, unit+"-p50-ms")
		b.ReportMetric(took[n*99/100].Seconds()*1000, unit+"-p99-ms")
	}
}

func createLink(b *testing.B, store *eventstore.Store) reachedAt {
	b.Helper()
	id := uuid.Must(uuid.NewV7()).String()
	appended, err := store.Append(b.Context(), eventstore.Write{
		Stream: events.StreamURL + id, Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.URLCreated{
			URLID: id, Account: uuid.NewString(), Hash: id[24:], LongURL: "https://example.com/some/path?with=query",
			At: logtest.Noon,
		}},
	})
	if err != nil {
		b.Error(err)
	}
	return reachedAt{appended.Position.Commit, time.Now()}
}
