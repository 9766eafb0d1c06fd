package engine_test

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/projectionstest"
)

// BenchmarkTree measures how much processor time this process, which includes the event store,
// spends on the tree for each event while links are created as fast as possible. It alternates with
// the same load without a tree.
func BenchmarkTree(b *testing.B) {
	const turn = 20_000
	store := eventstoretest.New(b)
	create := func() (took, processor time.Duration) {
		began, used := time.Now(), processorTime(b)
		var all errgroup.Group
		all.SetLimit(64)
		for range turn {
			all.Go(func() error { createLink(b, store); return nil })
		}
		_ = all.Wait() // never fails
		return time.Since(began), processorTime(b) - used
	}
	var without, with, used, usedWith, applying time.Duration
	batches := 0
	for b.Loop() {
		took, processor := create()
		without, used = without+took, used+processor
		head, err := store.Head(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		progress, counting := projectionstest.NewProgress(), false
		stop := runOnly(b, projections.Tree, engine.Config{DB: projectionstest.Open(
			b,
		), Store: store, OnCommit: progress.Advance, OnBatch: func(_ string, _ int, took time.Duration, _ error) {
			if counting {
				applying, batches = applying+took, batches+1
			}
		}})
		progress.Wait(b, head.Commit, projections.Tree)
		counting = true
		took, processor = create()
		stop()
		with, usedWith = with+took, usedWith+processor
	}
	events := float64(turn * b.N)
	b.ReportMetric(events/with.Seconds(), "links/s")
	b.ReportMetric(without.Seconds()/with.Seconds(), "ratio")
	b.ReportMetric(float64((usedWith-used).Nanoseconds())/1e3/events, "added-us/link")
	b.ReportMetric(float64(used.Nanoseconds())/1e3/events, "us/link")
	b.ReportMetric(applying.Seconds()*1000/float64(batches), "ms/batch")
	b.ReportMetric(float64(batches)/with.Seconds(), "batches/s")
}

// processorTime returns the processor time that this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
