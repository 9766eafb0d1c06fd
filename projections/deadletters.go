package projections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// errFollows is why an event is a dead letter that was never tried.
var errFollows = errors.New("follows a dead letter of its stream")

func (p *projector) isParked(r eventstore.Recorded) bool {
	_, ok := p.parked[r.Stream]
	return ok
}

// park sets an event aside in the transaction that moves the checkpoint past it. It returns false, and changes nothing,
// where the generation does not serve.
func (p *projector) park(ctx context.Context, r eventstore.Recorded, to eventstore.Position, cause error) (bool, error) {
	errNotServing := errors.New("not serving")
	err := p.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		serving, err := p.at.advance(ctx, tx, to, p.lease)
		if err != nil {
			return err
		}
		if !serving {
			return errNotServing
		}
		if err := p.insertLetters(ctx, tx, []eventstore.Recorded{r}, cause); err != nil {
			return err
		}
		return announce(ctx, tx, p.name, to, nil)
	})
	if errors.Is(err, errNotServing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.parked[r.Stream] = struct{}{}
	p.reached(to, nil, true, nil)
	return true, nil
}

// parkFollowers sets aside what follows a dead letter of the same stream.
func (p *projector) parkFollowers(ctx context.Context, tx bun.Tx, recorded []eventstore.Recorded) error {
	var followers []eventstore.Recorded
	for _, r := range recorded {
		if p.isParked(r) {
			followers = append(followers, r)
		}
	}
	return p.insertLetters(ctx, tx, followers, errFollows)
}

func (p *projector) insertLetters(ctx context.Context, tx bun.Tx, recorded []eventstore.Recorded, cause error) error {
	letters := make([]readmodel.DeadLetter, len(recorded))
	for i, r := range recorded {
		letters[i] = readmodel.DeadLetter{
			Name: p.name, Generation: p.at.generation, CommitPos: signed(r.Position.Commit), PreparePos: signed(r.Position.Prepare),
			EventID: r.ID, Stream: r.Stream, Revision: int64(r.Revision), Type: r.Type, RecordedAt: r.Time, Data: r.Data,
			Error: cause.Error(),
		}
	}
	if _, err := tx.NewInsert().Model(&letters).Exec(ctx); err != nil {
		return fmt.Errorf("park events of %s: %w", p.name, err)
	}
	return nil
}

func parkedStreams(ctx context.Context, db bun.IDB, at checkpoint) (map[string]struct{}, error) {
	var streams []string
	if err := db.NewSelect().Model((*readmodel.DeadLetter)(nil)).ColumnExpr("DISTINCT stream").
		Where("name = ? AND generation = ?", at.name, at.generation).Scan(ctx, &streams); err != nil {
		return nil, fmt.Errorf("dead letters of %s: %w", at.name, err)
	}
	parked := make(map[string]struct{}, len(streams))
	for _, stream := range streams {
		parked[stream] = struct{}{}
	}
	return parked, nil
}

// firstLetters returns the first dead letter of each stream that has some.
func firstLetters(ctx context.Context, db bun.IDB, at checkpoint) (map[string]eventstore.Position, error) {
	var letters []readmodel.DeadLetter
	if err := db.NewSelect().Model(&letters).DistinctOn("stream").Column("stream", "commit_pos", "prepare_pos").
		Where("name = ? AND generation = ?", at.name, at.generation).
		Order("stream", "commit_pos", "prepare_pos").Scan(ctx); err != nil {
		return nil, fmt.Errorf("dead letters of %s: %w", at.name, err)
	}
	first := make(map[string]eventstore.Position, len(letters))
	for _, l := range letters {
		first[l.Stream] = eventstore.Position{Commit: uint64(l.CommitPos), Prepare: uint64(l.PreparePos)} //nolint:gosec // never negative
	}
	return first, nil
}

// DeadLetters lists the events that a projection has set aside, all projections if the name is empty, oldest first.
func DeadLetters(ctx context.Context, db *readmodel.DB, name string) ([]readmodel.DeadLetter, error) {
	var letters []readmodel.DeadLetter
	query := db.NewSelect().Model(&letters).Order("name", "generation", "commit_pos", "prepare_pos")
	if name != "" {
		query = query.Where("name = ?", name)
	}
	if err := query.Scan(ctx); err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return letters, nil
}

// RetryDeadLetters applies the dead letters of a projection, of one stream or of all if that is empty, in the order of
// the log, all or none. It returns how many. The error about an event is an *EventError.
func RetryDeadLetters(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	p, err := projectionNamed(name)
	if err != nil {
		return 0, err
	}
	return takeLetters(ctx, db, name, stream, func(ctx context.Context, tx bun.Tx, at checkpoint, recorded []eventstore.Recorded) error {
		facts, err := decode(recorded, func(eventstore.Recorded) bool { return false })
		if err != nil {
			return err
		}
		changed, err := p.apply(ctx, tx, facts)
		if err != nil {
			return err
		}
		return announce(ctx, tx, name, at.position, changed)
	})
}

// DiscardDeadLetters removes the dead letters of a projection, of one stream or of all if that is empty: the read model
// stays without their effect. It returns how many.
func DiscardDeadLetters(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	if _, err := projectionNamed(name); err != nil {
		return 0, err
	}
	return takeLetters(ctx, db, name, stream, func(context.Context, bun.Tx, checkpoint, []eventstore.Recorded) error { return nil })
}

type takeFunc = func(ctx context.Context, tx bun.Tx, at checkpoint, recorded []eventstore.Recorded) error

// takeLetters hands the dead letters of the generation that serves to take, and removes them. The owner is sent out of
// office, because it knows which streams have letters.
func takeLetters(ctx context.Context, db *readmodel.DB, name, stream string, take takeFunc) (n int, err error) {
	serving, err := servingGeneration(ctx, db, name)
	if err != nil {
		return 0, err
	}
	at := checkpointOf(serving)
	schema := bun.Ident(readmodel.GenerationSchema(name, at.generation))
	err = db.WithNamedArg("schema", schema).RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if at, err = depose(ctx, tx, at); err != nil {
			return err
		}
		letters, err := removeLetters(ctx, tx, at, stream)
		if n = len(letters); n == 0 || err != nil {
			return err
		}
		if err := take(ctx, tx, at, letters); err != nil {
			return err
		}
		return wakeElections(ctx, tx, name)
	})
	if err != nil {
		return 0, fmt.Errorf("dead letters of %s: %w", name, err)
	}
	return n, nil
}

// removeLetters returns the dead letters in the order of the log.
func removeLetters(ctx context.Context, tx bun.Tx, at checkpoint, stream string) ([]eventstore.Recorded, error) {
	var letters []readmodel.DeadLetter
	query := tx.NewDelete().Model(&letters).Where("name = ? AND generation = ?", at.name, at.generation).Returning("*")
	if stream != "" {
		query = query.Where("stream = ?", stream)
	}
	if err := query.Scan(ctx); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	recorded := make([]eventstore.Recorded, len(letters))
	for i, l := range letters {
		recorded[i] = eventstore.Recorded{
			ID: l.EventID, Stream: l.Stream, Revision: eventstore.Revision(l.Revision),
			Position: eventstore.Position{Commit: uint64(l.CommitPos), Prepare: uint64(l.PreparePos)}, //nolint:gosec // never negative
			Type:     l.Type, Time: l.RecordedAt, Data: l.Data,
		}
	}
	slices.SortFunc(recorded, func(a, b eventstore.Recorded) int {
		return cmp.Or(cmp.Compare(a.Position.Commit, b.Position.Commit), cmp.Compare(a.Position.Prepare, b.Position.Prepare))
	})
	return recorded, nil
}
