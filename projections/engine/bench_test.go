package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
)

const (
	benchLinks      = 20_000
	editsPerLink    = 4
	clicksPerLink   = 10
	clicksPerAppend = 10
)

// fillLog appends links with edits and clicks. It returns the number of events that the links
// projection follows, and the position of the last one.
func fillLog(b *testing.B, store *eventstore.Store) (n int, last uint64) {
	b.Helper()
	w := projectionstest.NewWriter(b, store)
	account := uuid.New()
	var clicks []events.Click
	for i := range benchLinks {
		id := uuid.Must(uuid.NewV7())
		life := []events.Event{events.URLCreated{
			URLID: id.String(), Account: account.String(), Hash: fmt.Sprintf("h%d", i),
			LongURL: fmt.Sprintf("https://example.com/articles/%d?utm_source=newsletter", i), Note: "a note", At: logtest.Noon,
		}}
		for j := range editsPerLink {
			note := fmt.Sprint("note ", j)
			life = append(life, events.URLSettingsChanged{Note: &note, At: logtest.Noon})
		}
		last = w.Append(events.StreamURL+id.String(), life...)
		n += len(life)
		for j := range clicksPerLink {
			clicks = append(clicks, events.Click{URLID: id.String(), Visitor: fmt.Sprintf("%022d", i+j), At: logtest.Noon})
		}
		if len(clicks) >= clicksPerAppend*clicksPerLink {
			last = w.Append(events.StreamClicks+"20260331-bench", events.ClicksRecorded{Clicks: clicks})
			clicks = clicks[:0]
			n++
		}
	}
	return n, last
}

// BenchmarkCatchUp measures how fast the links projection applies a log, compared with a plain
// subscription to it.
func BenchmarkCatchUp(b *testing.B) {
	store := eventstoretest.New(b)
	n, last := fillLog(b, store)
	for _, size := range []int{1000, 2000, 5000} {
		b.Run(fmt.Sprintf("links/batch=%d", size), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				db, progress := projectionstest.Open(b), projectionstest.NewProgress()
				b.StartTimer()
				stop := runOnly(b, projections.Links, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, BatchSize: size})
				progress.Wait(b, last, projections.Links)
				b.StopTimer()
				stop()
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(benchLinks*clicksPerLink*b.N)/b.Elapsed().Seconds(), "clicks/s")
		})
	}
	b.Run("subscription", func(b *testing.B) {
		for range b.N {
			follow(b, store, last)
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// follow receives the batches of the links projection and discards them.
func follow(b *testing.B, store *eventstore.Store, last uint64) {
	b.Helper()
	subscriber := subscription.New(store, subscription.Config{
		Filter:     eventstore.Filter{Streams: []string{events.StreamURL, events.StreamClicks}},
		Checkpoint: func(context.Context) (eventstore.Position, error) { return eventstore.Position{}, nil },
	})
	defer func() { _ = subscriber.Close() }()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	messages, err := subscriber.Subscribe(ctx, projections.Links)
	if err != nil {
		b.Fatal(err)
	}
	for m := range messages {
		done := subscription.BatchOf(m).Position.Commit >= last
		m.Ack()
		if done {
			return
		}
	}
	b.Fatal("the subscription ended")
}

// runOnly starts one projection.
func runOnly(b *testing.B, name string, cfg engine.Config) (stop func()) {
	b.Helper()
	p, err := projections.All().Named(name)
	if err != nil {
		b.Fatal(err)
	}
	return projectionstest.RunSet(b, projection.Set{p}, cfg)
}
