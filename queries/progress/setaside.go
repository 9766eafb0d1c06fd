package progress

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
)

// setAside is what is known of the events that a projection has set aside. It keeps writes from
// asking the database as long as there are none.
type setAside struct {
	none  bool   // there are none, unless a notification says so
	noted uint64 // how often notifications may have said so
}

func (s *setAside) note() {
	s.none = false
	s.noted++
}

// noteChanged records what changed keys say of events that are set aside. Those of a generation
// that has taken over are not known.
func (s *setAside) noteChanged(keys []string) {
	if slices.Contains(keys, readmodel.SetAside) || slices.Contains(keys, readmodel.Everything) {
		s.note()
	}
}

// SetAside returns those of the commit positions whose events a projection has passed without
// applying them, because they are set aside. As long as no event is, it does not ask the database.
func (w *Waiter) SetAside(
	ctx context.Context, projection string, positions ...uint64,
) (map[uint64]struct{}, error) {
	w.mu.Lock()
	known := w.state(projection).setAside
	asks := !known.none || !w.told
	w.mu.Unlock()
	if !asks || len(positions) == 0 {
		return nil, nil //nolint:nilnil // no position is set aside
	}
	signed := make([]int64, len(positions))
	for i, position := range positions {
		signed[i] = int64(position) //nolint:gosec // below 2^63
	}
	var found []int64
	var some bool
	err := w.db.NewRaw(`
		WITH letters AS (
			SELECT letter.commit_pos FROM linkledger.dead_letters AS letter
			JOIN linkledger.generations AS g USING (name, generation)
			WHERE g.serving AND letter.name = ?)
		SELECT ARRAY(SELECT DISTINCT commit_pos FROM letters WHERE commit_pos = ANY(?)),
			EXISTS (SELECT FROM letters)`,
		projection, pgdialect.Array(signed),
	).Scan(ctx, pgdialect.Array(&found), &some)
	if err != nil {
		return nil, fmt.Errorf("events that are set aside: %w", err)
	}
	if !some {
		w.noneSetAside(projection, known.noted)
	}
	lacking := make(map[uint64]struct{}, len(found))
	for _, position := range found {
		lacking[uint64(position)] = struct{}{} //nolint:gosec // never negative
	}
	return lacking, nil
}

// noneSetAside records that a projection has set nothing aside, unless it may have since noted was
// read.
func (w *Waiter) noneSetAside(projection string, noted uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := &w.state(projection).setAside
	known.none = known.noted == noted
}

// forgetSetAside records that notifications may have been missed.
func (w *Waiter) forgetSetAside() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.projections {
		p.setAside.note()
	}
}

// setTold records whether notifications tell from now on of events that are set aside.
func (w *Waiter) setTold(told bool) {
	w.forgetSetAside()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = told
}
