package deadletter

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// Outcome is what Discard has done.
type Outcome struct {
	Discarded int // events that were given up
	Applied   int // later events of their streams that could be applied without them
	Left      int // later events of their streams that are still set aside
}

// Discard gives up the first dead letter of each stream that a projection has set aside, and
// applies the later events of the stream as far as possible. If stream is not empty, Discard does
// so for that stream only. In a stream of independent events, Discard gives up every dead letter.
//
// All generations leave out a discarded event until Restore: the serving one, generations that are
// built or kept, and later ones. A discarded event is still applied as far as it ends rights.
func Discard(
	ctx context.Context, db *readmodel.DB, p projection.Definition, stream string,
) (all Outcome, err error) {
	streams := []string{stream}
	if stream == "" {
		if streams, err = streamsOf(ctx, db, p.Name); err != nil {
			return all, err
		}
	}
	for _, stream := range streams {
		one, err := discardFirst(ctx, db, p, stream)
		if err != nil {
			return all, fmt.Errorf("discard dead letters of %s: %w", p.Name, err)
		}
		all.Discarded += one.Discarded
		all.Applied += one.Applied
		all.Left += one.Left
	}
	return all, nil
}

// discardFirst gives up the first dead letter of a stream, in one transaction for all generations
// of this program's shape.
//
// It revokes the leases of the owners of these generations, because the owners keep in memory which
// events are left out.
func discardFirst(
	ctx context.Context, db *readmodel.DB, p projection.Definition, stream string,
) (done Outcome, err error) {
	err = pgx.BeginFunc(ctx, db.Writers, func(tx pgx.Tx) error {
		serving, others, err := revokeLeases(ctx, tx, p.Name)
		if err != nil {
			return err
		}
		letters, err := lettersOf(ctx, tx, serving, stream)
		if err != nil || len(letters) == 0 {
			return err
		}
		given := letters[:1]
		if projection.Independent(stream) {
			given = letters
		}
		if err := remember(ctx, tx, p.Name, given); err != nil {
			return err
		}
		done, err = leaveOut(ctx, db, tx, p, serving, stream, given)
		if err != nil {
			return err
		}
		for _, at := range others {
			if _, err := leaveOut(ctx, db, tx, p, at, stream, given); err != nil {
				return err
			}
		}
		return wakeOwner(ctx, tx, p.Name)
	})
	return done, err
}

// leaveOut removes the dead letters of a stream that are in given, the events that were given up,
// from a generation. It then applies the other dead letters of the stream up to the first one that
// cannot be applied.
func leaveOut(
	ctx context.Context, db *readmodel.DB, tx pgx.Tx, p projection.Definition,
	at generation.Checkpoint, stream string, given []eventstore.Recorded,
) (done Outcome, err error) {
	letters, err := lettersOf(ctx, tx, at, stream)
	if err != nil {
		return done, err
	}
	without := make(Discarded, len(given))
	for _, r := range given {
		without[placeOf(r)] = struct{}{}
	}
	var removed, rest []eventstore.Recorded
	for _, l := range letters {
		if without.Has(l) {
			removed = append(removed, l)
		} else {
			rest = append(rest, l)
		}
	}
	if len(removed) == 0 {
		return done, nil
	}
	n, changed, refused, err := applyPart(ctx, db, tx, p, at, rest)
	if err != nil {
		return done, err
	}
	if err := remove(ctx, tx, at, append(removed, rest[:n]...)); err != nil {
		return done, err
	}
	if err := explain(ctx, tx, at, rest[n:], refused); err != nil {
		return done, err
	}
	done = Outcome{Discarded: len(removed), Applied: n, Left: len(rest) - n}
	return done, announce(ctx, tx, at, changed)
}

// revokeLeases revokes the leases of all generations of this program's shape, and returns their
// checkpoints. It fails with ErrOtherShape if none of them serves.
//
// The commit of tx then waits for the disk, so that a crash does not undo what an operator has seen
// to succeed.
func revokeLeases(
	ctx context.Context, tx pgx.Tx, name string,
) (serving generation.Checkpoint, others []generation.Checkpoint, err error) {
	shape, err := readmodel.Shape(name)
	if err != nil {
		return serving, nil, err
	}
	if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
		return serving, nil, err
	}
	rows, err := tx.Query(ctx, `UPDATE linkledger.generations
		SET owner = '', epoch = epoch + 1, lease_until = 'epoch'
		WHERE name = $1 AND shape = $2
		RETURNING generation, epoch, commit_pos, prepare_pos, serving`, name, shape)
	if err != nil {
		return serving, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		at, serves := generation.Checkpoint{Name: name}, false
		if err := rows.Scan(
			&at.Generation, &at.Epoch, &at.Position.Commit, &at.Position.Prepare, &serves,
		); err != nil {
			return serving, nil, err
		}
		if serves {
			serving = at
		} else {
			others = append(others, at)
		}
	}
	if err := rows.Err(); err != nil {
		return serving, nil, err
	}
	if serving.Name == "" {
		return serving, nil, generation.ErrOtherShape
	}
	return serving, others, nil
}

// Discarded says which events of a projection an operator has given up.
type Discarded map[place]struct{}

// place identifies an event by stream and revision, because a position is valid in one log only,
// and the writer of an event chooses its id.
type place struct {
	stream   string
	revision eventstore.Revision
}

func placeOf(r eventstore.Recorded) place { return place{r.Stream, r.Revision} }

// Add notes that the event at a revision of a stream was given up.
func (d Discarded) Add(stream string, revision eventstore.Revision) {
	d[place{stream, revision}] = struct{}{}
}

// Has reports whether an event was given up.
func (d Discarded) Has(r eventstore.Recorded) bool {
	_, ok := d[placeOf(r)]
	return ok
}

// DiscardedEvent is an event that an operator has given up.
type DiscardedEvent struct {
	Projection  string    `bun:"projection"   json:"projection"`
	Stream      string    `bun:"stream"       json:"stream"`
	Revision    int64     `bun:"revision"     json:"revision"`
	Type        string    `bun:"type"         json:"type"`
	DiscardedAt time.Time `bun:"discarded_at" json:"discarded_at"`
}

// ListDiscarded returns the events of a projection that were given up, ordered by projection,
// stream and revision. An empty name stands for all projections.
func ListDiscarded(ctx context.Context, db bun.IDB, name string) ([]DiscardedEvent, error) {
	var found []DiscardedEvent
	if err := db.NewSelect().TableExpr("linkledger_durable.discarded_events").
		Where("projection = ?0 OR ?0 = ''", name).
		Order("projection", "stream", "revision").Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("discarded events: %w", err)
	}
	return found, nil
}

// DiscardedBy returns which events of a projection were given up.
func DiscardedBy(ctx context.Context, db bun.IDB, name string) (Discarded, error) {
	found, err := ListDiscarded(ctx, db, name)
	if err != nil {
		return nil, err
	}
	discarded := make(Discarded, len(found))
	for _, e := range found {
		discarded.Add(e.Stream, eventstore.Revision(e.Revision))
	}
	return discarded, nil
}

// remember records that events of a stream are given up.
func remember(ctx context.Context, tx pgx.Tx, name string, given []eventstore.Recorded) error {
	for _, r := range given {
		if _, err := tx.Exec(ctx, `INSERT INTO linkledger_durable.discarded_events
				(projection, stream, revision, type) VALUES ($1, $2, $3, $4)
			ON CONFLICT DO NOTHING`,
			name, r.Stream, int64(r.Revision), generation.Storable(r.Type)); err != nil {
			return err
		}
	}
	return nil
}

// Restore undoes the discarding of events of a projection, and returns the number of these events.
// If stream is not empty, Restore does so for the events of that stream only. The next rebuild
// applies the events again.
func Restore(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	done, err := db.NewDelete().TableExpr("linkledger_durable.discarded_events").
		Where("projection = ?", name).Where("stream = ?0 OR ?0 = ''", stream).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("restore discarded events of %s: %w", name, err)
	}
	n, err := done.RowsAffected()
	return int(n), err
}
