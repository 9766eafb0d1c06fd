package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// TestDemand holds clicks back for an hour, and checks that they are applied on demand of another
// process.
func TestDemand(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	progress := projectionstest.NewProgress()
	delayed := projections.All()
	for i, p := range delayed {
		if p.Name == projections.Links || p.Name == projections.Dimensions {
			delayed[i].MinDelay, delayed[i].MaxDelay = time.Hour, time.Hour
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- engine.Run(ctx, delayed, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	}()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	w, link := projectionstest.NewWriter(t, store), uuid.New()
	first := w.Click("a", link, "v")
	progress.Wait(t, first, projections.Links, projections.Dimensions) // not delayed, because no event came for a long time
	for range 3 {
		position := w.Click("a", link, "v")
		for _, name := range []string{projections.Links, projections.Dimensions} {
			stop := repeatedly(t, func(ctx context.Context) error { // the listener may not have started yet
				_, err := db.NewRaw(
					"SELECT pg_notify(?, ?)", readmodel.ControlChannel, fmt.Sprint(name, " ", position),
				).Exec(ctx)
				return err
			})
			progress.Wait(t, position, name)
			stop()
		}
	}
}

// repeatedly calls do repeatedly until stop is called.
func repeatedly(t *testing.T, do func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var doing sync.WaitGroup
	doing.Go(func() {
		for ctx.Err() == nil {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() { cancel(); doing.Wait() }
}
