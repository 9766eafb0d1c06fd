package level

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"linkledger/condition"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/logreader"
	"linkledger/projections/readmodel"
)

// watchInterval is how often a Watch compares the read models with the log.
const watchInterval = time.Second

// late is the age at which an event that a read model lacks makes it count as behind. It is longer
// than the two seconds that clicks may wait to be counted together.
const late = 3 * time.Second

// Watch watches whether the read models that serve fit the log: whether the log has the events that
// they were built from, and how far they are behind it. It is safe for concurrent use.
type Watch struct {
	db      *readmodel.DB
	store   *eventstore.Store
	filters map[string]eventstore.Filter // of the projections
	log     *condition.Log

	state atomic.Pointer[state]
}

// state is what the last check has found.
type state struct {
	misplaced map[string]bool      // by projection
	behind    map[string]time.Time // by projection: when the first missing event was recorded
}

// NewWatch returns a Watch over the projections with these filters.
func NewWatch(
	db *readmodel.DB, store *eventstore.Store, filters map[string]eventstore.Filter,
	logger *slog.Logger,
) *Watch {
	w := &Watch{
		db: db, store: store, filters: filters,
		log: condition.New(logger,
			"the log lacks events of the read models, as after the restore of a backup: the read "+
				"models are built anew from the log, and what the log lacks is refused",
			"the read models fit the log again"),
	}
	w.state.Store(&state{})
	return w
}

// Misplaced reports whether the read model of one of the projections has events that the log does
// not have. It takes no lock.
func (w *Watch) Misplaced(projections ...string) bool {
	now := w.state.Load()
	if len(now.misplaced) == 0 {
		return false
	}
	for _, name := range projections {
		if now.misplaced[name] {
			return true
		}
	}
	return false
}

// Behind returns the age of the oldest event that the read models of projections lack. It is 0 if
// they lack no event, or only events that are younger than three seconds: see late.
func (w *Watch) Behind(projections ...string) (behind time.Duration) {
	now := w.state.Load()
	for _, name := range projections {
		if at, ok := now.behind[name]; ok {
			behind = max(behind, time.Since(at))
		}
	}
	return behind
}

// Run checks until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		// While the database or the event store does not answer, the last result stays.
		_ = w.Check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Check compares the read models with the log once. It MUST NOT be called while another Check runs.
func (w *Watch) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*Timeout)
	defer cancel()
	var serving []readmodel.Generation
	if err := w.db.NewSelect().Model(&serving).Where("serving").Scan(ctx); err != nil {
		return fmt.Errorf("compare the read models with the log: %w", err)
	}
	next := &state{misplaced: make(map[string]bool), behind: make(map[string]time.Time)}
	var invalid error
	for _, g := range serving {
		filter, known := w.filters[g.Name]
		if !known {
			continue
		}
		found, err := w.compare(ctx, g, filter)
		switch {
		case errors.Is(err, eventstore.ErrPositionInvalid):
			next.misplaced[g.Name], invalid = true, err
		case err != nil:
			return err
		case found.First != (eventstore.Position{}) && time.Since(found.At) > late:
			next.behind[g.Name] = found.At
		}
	}
	w.state.Store(next)
	w.log.Report(ctx, invalid)
	return nil
}

// compare returns what the log has after the checkpoint of a generation. It fails with
// eventstore.ErrPositionInvalid if the generation was built from another log.
func (w *Watch) compare(
	ctx context.Context, g readmodel.Generation, filter eventstore.Filter,
) (logreader.Following, error) {
	checkpoint := positionOf(g.CommitPos, g.PreparePos)
	witness := eventlog.Identity{
		Position: positionOf(g.WitnessCommit, g.WitnessPrepare), ID: g.WitnessID,
	}
	if err := w.store.Fits(ctx, checkpoint, witness, filter); err != nil {
		return logreader.Following{}, err
	}
	return w.store.Following(ctx, checkpoint, filter)
}

func positionOf(commit, prepare int64) eventstore.Position {
	return eventstore.Position{
		Commit:  uint64(commit),  //nolint:gosec // never negative
		Prepare: uint64(prepare), //nolint:gosec // never negative
	}
}
