package generation_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
)

// elect elects owner for the workshop's generation. It succeeds immediately if the generation has
// no owner.
func elect(
	ctx context.Context, w *foldtest.Workshop, t projectionstest.T, owner string, lose func(),
) (*projector.Projector, generation.Checkpoint) {
	t.Helper()
	found, err := generation.Candidates(ctx, w.DB)
	if err != nil {
		t.Fatalf("candidates: %v", err)
	}
	for _, c := range found {
		if c.Name != w.Projection.Name || c.Generation.Generation != w.Generation {
			continue
		}
		at, elected, err := generation.Acquire(ctx, w.DB, c.Generation, owner, generation.DefaultLease)
		if err != nil || !elected {
			t.Fatalf("%s was not elected: %v", owner, err)
		}
		return w.Projector(ctx, t, func(cfg *projector.Config) { cfg.At, cfg.Lose = at, lose }), at
	}
	t.Fatalf("no generation %d", w.Generation)
	return nil, generation.Checkpoint{}
}

// expire ends the lease of the generation.
func expire(ctx context.Context, w *foldtest.Workshop, t projectionstest.T) {
	t.Helper()
	if _, err := w.DB.NewRaw("UPDATE linkledger.generations SET lease_until = clock_timestamp() - interval '1s' WHERE "+
		"name = ?",
		w.Projection.Name).Exec(ctx); err != nil {
		t.Fatalf("expire: %v", err)
	}
}

// TestOwnerOfThePastIsRefused checks that an owner that resumes after another one was elected is
// refused, and that none of its writes takes effect.
func TestOwnerOfThePastIsRefused(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Links)
	projectionstest.Present(t, w.DB, "previous")
	h := logtest.Record(
		nil, events.StreamURL+uuid.New().String(), 0, events.ClaimAbandoned{At: logtest.Noon}, events.ClaimAbandoned{At: logtest.Noon},
	)
	ended := make(chan struct{})
	previous, past := elect(ctx, w, t, "previous", sync.OnceFunc(func() { close(ended) }))
	foldtest.Apply(ctx, t, previous, h[:1])
	expire(ctx, w, t)
	next, now := elect(ctx, w, t, "next", func() {})
	if now.Position != h[0].Position || now.Epoch != past.Epoch+1 {
		t.Errorf("the next owner starts at %+v after %+v", now, past)
	}

	if err := previous.Apply(ctx, foldtest.BatchOf(h[1:])); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a batch of the previous owner: %v", err)
	}
	if err := past.Renew(
		ctx, w.DB, generation.DefaultLease, generation.Report{},
	); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a renewal by the previous owner: %v", err)
	}
	if err := past.Release(ctx, w.DB); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a release by the previous owner: %v", err)
	}
	if _, err := previous.Checkpoint(ctx); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a checkpoint of the previous owner: %v", err)
	}
	<-ended
	foldtest.Apply(ctx, t, next, h[1:])
	if err := now.Release(ctx, w.DB); err != nil {
		t.Error(err)
	}
}

// TestOneIsElected checks that one process is elected if many stand for election concurrently.
func TestOneIsElected(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Tags)
	found, err := generation.Candidates(ctx, w.DB)
	if err != nil {
		t.Fatal(err)
	}
	var owners []string
	for i := range 6 {
		owners = append(owners, strconv.Itoa(i))
		projectionstest.Present(t, w.DB, owners[i])
	}
	for round := range 20 {
		var elected, failed []error
		var mu sync.Mutex
		var processes sync.WaitGroup
		for i := range owners {
			processes.Go(func() {
				_, won, err := generation.Acquire(ctx, w.DB, found[0].Generation, owners[i], generation.DefaultLease)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = append(failed, err)
				}
				if won {
					elected = append(elected, nil)
				}
			})
		}
		processes.Wait()
		if len(elected) != 1 || len(failed) > 0 {
			t.Fatalf("round %d: %d processes were elected, errors %v", round, len(elected), failed)
		}
		if _, err := w.DB.NewRaw("UPDATE linkledger.generations SET lease_until = 'epoch'").Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
