package engine_test

import (
	"flag"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
)

var rebuildEvents = flag.Int(
	"rebuild-events", 1_000_000, "events of the log that BenchmarkRebuild rebuilds the links from",
)

// fillLinks appends n events. The parameter creations is the number of events in ten that create
// links. The others edit much older links. It returns the position of the last event.
func fillLinks(b *testing.B, store *eventstore.Store, n, creations int) (last uint64) {
	b.Helper()
	const writers = 64
	account := uuid.New()
	var all errgroup.Group
	for range writers {
		all.Go(func() error {
			var ids []string
			var revisions []eventstore.Revision
			for i := range n / writers {
				write := eventstore.Write{Command: uuid.New(), Expected: eventstore.NoStream}
				if i%10 >= creations {
					edited := i * 7919 % len(ids)
					note := fmt.Sprint("edited ", i)
					write.Stream, write.Expected = events.StreamURL+ids[edited], revisions[edited]
					write.Events = []events.Event{events.URLSettingsChanged{Note: &note, At: logtest.Noon}}
					revisions[edited]++
				} else {
					id := uuid.Must(uuid.NewV7()).String()
					ids, revisions = append(ids, id), append(revisions, 0)
					write.Stream = events.StreamURL + id
					write.Events = []events.Event{events.URLCreated{
						URLID: id, Account: account.String(), Hash: id[24:31], At: logtest.Noon,
						LongURL: fmt.Sprintf("https://example.com/articles/%d?utm_source=newsletter", i),
						Note:    "a note",
					}}
				}
				if _, err := store.Append(b.Context(), write); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
	head, err := store.Head(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return head.Commit
}

// BenchmarkRebuild rebuilds the links until they have caught up with the log, and until they serve.
// It alternates with plain subscriptions to the same events, through the official client and
// through the Subscriber. The reported memory is what a rebuild needs in addition to the filled
// event store. It includes the event store's reads.
func BenchmarkRebuild(b *testing.B) {
	for _, creations := range []int{2, 9} {
		b.Run(fmt.Sprintf("creations=%d0%%", creations), func(b *testing.B) { benchmarkRebuild(b, creations) })
	}
}

func benchmarkRebuild(b *testing.B, creations int) {
	b.Helper()
	server := eventstoretest.Serve(b)
	store := eventstoretest.Open(b, server.URL())
	last := fillLinks(b, store, *rebuildEvents, creations)
	var building, serving, following, subscribed time.Duration
	var memory uint64
	for b.Loop() {
		db := projectionstest.Open(b)
		debug.FreeOSMemory()
		before := memoryInUse()
		start, caughtUp := time.Now(), time.Duration(0)
		err := projections.Rebuild(b.Context(), engine.Config{
			DB: db, Store: store,
		}, []string{projections.Links}, func(progress []status.Progress) {
			memory = max(memory, memoryInUse()-min(before, memoryInUse()))
			if caughtUp == 0 && progress[0].Position >= last {
				caughtUp = time.Since(start)
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		building, serving = building+caughtUp, serving+time.Since(start)
		start = time.Now()
		follow(b, store, last)
		following += time.Since(start)
		start = time.Now()
		eventstoretest.Follow(b, server.URL(), []string{events.StreamURL, events.StreamClicks}, last)
		subscribed += time.Since(start)
	}
	rate := func(took time.Duration) float64 { return float64(*rebuildEvents*b.N) / took.Seconds() }
	b.ReportMetric(rate(building), "events/s")
	b.ReportMetric(rate(serving), "events/s-serving")
	b.ReportMetric(rate(following), "subscriber/s")
	b.ReportMetric(following.Seconds()/building.Seconds(), "of-subscriber")
	b.ReportMetric(rate(subscribed), "official/s")
	b.ReportMetric(subscribed.Seconds()/building.Seconds(), "of-official")
	b.ReportMetric(float64(memory)/1e6, "MB")
}

// memoryInUse returns the bytes that the Go runtime has obtained from the system.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
