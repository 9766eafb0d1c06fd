package deadletter

import (
	"context"
	"fmt"
	"maps"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// SetAside says which events a generation has set aside: the events of a stream from its first dead
// letter on, and single events of the streams whose events are independent. The values are the
// positions of these first and single events.
type SetAside map[setAsideKey]eventstore.Position

// setAsideKey names a stream. If the events of the stream are independent, it names one event by
// its position.
type setAsideKey struct {
	stream string
	single eventstore.Position
}

func keyOf(stream string, at eventstore.Position) setAsideKey {
	if projection.Independent(stream) {
		return setAsideKey{stream, at}
	}
	return setAsideKey{stream: stream}
}

// Has reports whether an event is set aside.
func (s SetAside) Has(r eventstore.Recorded) bool {
	first, ok := s[keyOf(r.Stream, r.Position)]
	return ok && !first.After(r.Position)
}

// UpTo returns the entries of s whose position is end or an earlier one.
func (s SetAside) UpTo(end eventstore.Position) SetAside {
	earlier := maps.Clone(s)
	maps.DeleteFunc(
		earlier, func(_ setAsideKey, first eventstore.Position) bool { return first.After(end) },
	)
	return earlier
}

// SetAsideBy returns which events a generation has set aside.
func SetAsideBy(
	ctx context.Context, db bun.IDB, at generation.Checkpoint,
) (SetAside, error) {
	var letters []readmodel.DeadLetter
	if err := db.NewSelect().Model(&letters).Column("stream", "commit_pos", "prepare_pos").
		Where("name = ? AND generation = ?", at.Name, at.Generation).
		Order("commit_pos", "prepare_pos").Scan(ctx); err != nil {
		return nil, fmt.Errorf("dead letters of %s: %w", at.Name, err)
	}
	found := make(SetAside)
	for _, l := range letters {
		//nolint:gosec // never negative
		position := eventstore.Position{
			Commit: uint64(l.CommitPos), Prepare: uint64(l.PreparePos),
		}
		if key := keyOf(l.Stream, position); found[key] == (eventstore.Position{}) {
			found[key] = position
		}
	}
	return found, nil
}
