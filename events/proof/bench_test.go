package proof

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
	"linkledger/events/proof/leaf"
)

var auditEvents = flag.Int("audit-events", 1_000_000, "events of the log that BenchmarkAudit reads")

// fillLog appends n events of about 400 bytes, the size of edits through the API.
func fillLog(b *testing.B, store *eventstore.Store, n int) (head eventstore.Position) {
	b.Helper()
	note := "a note that somebody has written about the link"
	id := uuid.NewString()
	by := events.Metadata{CorrelationID: id, CausationID: id, Account: id, Key: "5f0c1a2b", RequestID: id, BatchID: id}
	for i := 0; i < n; i += 500 {
		edits := make([]events.Event, min(500, n-i))
		for j := range edits {
			edits[j] = events.URLSettingsChanged{Note: &note, At: noon}
		}
		at, err := store.Append(b.Context(), eventstore.Write{
			Stream: fmt.Sprint(events.StreamURL, i), Expected: eventstore.NoStream, Command: uuid.New(), Metadata: by,
			Events: edits,
		})
		if err != nil {
			b.Fatal(err)
		}
		head = at.Position
	}
	return head
}

// BenchmarkAudit audits a log with its tree and a head. It alternates with plain reads of the same
// events and with a plain subscription to them. The reported memory excludes what the event store
// used before and includes the memory for reading.
func BenchmarkAudit(b *testing.B) {
	store := eventstoretest.Open(b, eventstoretest.ServeFolder(b, b.TempDir()).URL())
	end, n := fillLog(b, store, *auditEvents), *auditEvents
	var tree Tree
	var hasher leaf.Hasher
	var leaves []byte
	read := func(handle func([]eventstore.Recorded) error) time.Duration {
		began := time.Now()
		if err := store.ReadLog(b.Context(), eventstore.Position{}, end, handle); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	read(func(batch []eventstore.Recorded) error {
		for _, r := range batch {
			leaf := hasher.Hash(r)
			tree.Add(leaf)
			leaves = append(leaves, leaf[:]...)
		}
		return nil
	})
	stored := StoredTree{
		Size: tree.Size(), UpTo: end,
		Leaves: func(_ context.Context, from int64) ([]byte, error) { return leaves[from*32:], nil },
	}
	head := Head{}
	head.N, head.Hash = tree.Size(), tree.Root()
	debug.FreeOSMemory()
	before := memoryInUse()
	var memory uint64
	var auditing, reading, following time.Duration
	for b.Loop() {
		audit := NewAudit(stored, []Head{head})
		auditing += read(func(batch []eventstore.Recorded) error {
			memory = max(memory, memoryInUse()-min(before, memoryInUse()))
			return audit.Add(b.Context(), batch)
		})
		if found, err := audit.Findings(b.Context()); err != nil || found.Alteration != nil || len(found.Matching) != 1 {
			b.Fatalf("%+v, %v", found, err)
		}
		reading += read(func([]eventstore.Recorded) error { return nil })
		following += follow(b, store, end)
	}
	rate := func(took time.Duration) float64 { return float64(n*b.N) / took.Seconds() }
	b.ReportMetric(rate(auditing), "events/s")
	b.ReportMetric(rate(reading), "reading/s")
	b.ReportMetric(rate(following), "subscription/s")
	b.ReportMetric(float64(memory)/1e6, "MB")
}

// follow receives the events over a subscription and discards them.
func follow(b *testing.B, store *eventstore.Store, last eventstore.Position) time.Duration {
	b.Helper()
	subscriber := subscription.New(store, subscription.Config{
		Checkpoint: func(context.Context) (eventstore.Position, error) { return eventstore.Position{}, nil },
	})
	defer func() { _ = subscriber.Close() }()
	began := time.Now()
	messages, err := subscriber.Subscribe(b.Context(), "control")
	if err != nil {
		b.Fatal(err)
	}
	for m := range messages {
		done := !last.After(subscription.BatchOf(m).Position)
		m.Ack()
		if done {
			return time.Since(began)
		}
	}
	b.Fatal("the subscription ended")
	return 0
}

// memoryInUse returns the bytes that the Go runtime has obtained from the system.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
