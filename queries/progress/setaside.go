package progress

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// setAside records whether a projection may have set events aside as dead letters. If it cannot
// have, SetAside does not ask the database.
type setAside struct {
	none  bool   // the database had none when it was last asked, and no notification has come since
	noted uint64 // how often a notification may have said that events are set aside
}

func (s *setAside) note() {
	s.none = false
	s.noted++
}

// noteChanged records that events may be set aside, if the changed keys of a notification say so.
// It does the same when a new generation has taken over, because that generation may have set
// events aside too.
func (s *setAside) noteChanged(keys []string) {
	if slices.Contains(keys, readmodel.SetAside) || slices.Contains(keys, readmodel.Everything) {
		s.note()
	}
}

// SetAside returns the subset of the commit positions whose events a projection has set aside and
// not applied. It leaves out deletions of links, which are applied although they are set aside.
// While it is known that no event is set aside, SetAside returns nil without asking the database.
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
	return lacking, w.leaveOutDeletions(ctx, projection, lacking)
}

// leaveOutDeletions removes the position of each deletion whose link the read models show as
// deleted.
func (w *Waiter) leaveOutDeletions(
	ctx context.Context, projection string, lacking map[uint64]struct{},
) error {
	if len(lacking) == 0 {
		return nil
	}
	var deletions []struct {
		CommitPos uint64
		Stream    string
	}
	if err := w.db.NewRaw(`
		SELECT letter.commit_pos, letter.stream FROM linkledger.dead_letters AS letter
		JOIN linkledger.generations AS g USING (name, generation)
		WHERE g.serving AND letter.name = ? AND letter.type = ? AND letter.commit_pos IN ?`,
		projection, events.URLDeleted{}.EventType(),
		bun.Tuple(slices.Collect(maps.Keys(lacking))),
	).Scan(ctx, &deletions); err != nil {
		return fmt.Errorf("deletions that are set aside: %w", err)
	}
	for _, deletion := range deletions {
		text, _ := events.LinkIn(deletion.Stream)
		id, err := uuid.Parse(text)
		if err != nil {
			continue // no link has such an id
		}
		var deleted bool
		if err := w.db.NewRaw(
			"SELECT EXISTS (SELECT FROM linkledger.links WHERE id = ? AND deleted_at IS NOT NULL)",
			id,
		).Scan(ctx, &deleted); err != nil {
			return fmt.Errorf("deletions that are set aside: %w", err)
		}
		if deleted {
			delete(lacking, deletion.CommitPos)
		}
	}
	return nil
}

// noneSetAside records that a projection has set nothing aside. It does not record this if a
// notification may have said otherwise since noted was read.
func (w *Waiter) noneSetAside(projection string, noted uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := &w.state(projection).setAside
	known.none = known.noted == noted
}

// forgetSetAside records that any projection may have set events aside, because notifications may
// have been missed.
func (w *Waiter) forgetSetAside() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.projections {
		p.setAside.note()
	}
}

// setTold records whether notifications report, from now on, the events that are set aside.
func (w *Waiter) setTold(told bool) {
	w.forgetSetAside()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = told
}
