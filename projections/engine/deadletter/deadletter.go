package deadletter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// ErrFollows is why an event is a dead letter that was never tried.
var ErrFollows = errors.New("follows a dead letter of its stream")

// ErrUnreadable means that an event cannot be decoded: this version does not know its type, or its
// body is damaged. Its text begins the error of a dead letter that retryReadable tries again.
var ErrUnreadable = errors.New("event cannot be read")

// Letter is an event that is set aside, and why.
type Letter struct {
	eventstore.Recorded

	Cause error
}

// Readable reports whether an event was set aside because it could not be decoded, and can be by
// now.
func Readable(l readmodel.DeadLetter) bool {
	if !strings.HasPrefix(l.Error, ErrUnreadable.Error()) {
		return false
	}
	_, err := (eventstore.Recorded{Type: l.Type, Data: l.Data}).Event()
	return err == nil
}

// Insert queues letters of a generation.
func Insert(s *sqlbatch.Batch, at generation.Checkpoint, letters []Letter) {
	for _, l := range letters {
		s.Queue(`INSERT INTO linkledger.dead_letters
				(name, generation, commit_pos, prepare_pos, event_id, stream, revision, type, recorded_at, data, error)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			at.Name, at.Generation, sqlbatch.Signed(l.Position.Commit),
			sqlbatch.Signed(l.Position.Prepare), sqlbatch.UUID(l.ID), l.Stream,
			int64(l.Revision), generation.Storable(l.Type), sqlbatch.Time(l.Time),
			append([]byte{}, l.Data...), generation.Storable(l.Cause.Error()))
	}
}

// Parked returns the streams of a generation that have dead letters.
func Parked(
	ctx context.Context, db bun.IDB, at generation.Checkpoint,
) (map[string]struct{}, error) {
	var streams []string
	if err := db.NewSelect().Model((*readmodel.DeadLetter)(nil)).ColumnExpr("DISTINCT stream").
		Where("name = ? AND generation = ?", at.Name, at.Generation).Scan(
		ctx, &streams,
	); err != nil {
		return nil, fmt.Errorf("dead letters of %s: %w", at.Name, err)
	}
	parked := make(map[string]struct{}, len(streams))
	for _, stream := range streams {
		parked[stream] = struct{}{}
	}
	return parked, nil
}

// First returns the first dead letter of each stream that has some.
func First(
	ctx context.Context, db bun.IDB, at generation.Checkpoint,
) (map[string]eventstore.Position, error) {
	var letters []readmodel.DeadLetter
	if err := db.NewSelect().Model(&letters).DistinctOn("stream").Column(
		"stream", "commit_pos", "prepare_pos",
	).
		Where("name = ? AND generation = ?", at.Name, at.Generation).
		Order("stream", "commit_pos", "prepare_pos").Scan(ctx); err != nil {
		return nil, fmt.Errorf("dead letters of %s: %w", at.Name, err)
	}
	first := make(map[string]eventstore.Position, len(letters))
	for _, l := range letters {
		//nolint:gosec // never negative
		first[l.Stream] = eventstore.Position{
			Commit: uint64(l.CommitPos), Prepare: uint64(l.PreparePos),
		}
	}
	return first, nil
}

// List lists the events that a projection has set aside, all projections if the name is empty,
// oldest first.
func List(ctx context.Context, db *readmodel.DB, name string) ([]readmodel.DeadLetter, error) {
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

// Retry applies the dead letters of a projection, of one stream or of all if that is empty, in the
// order of the log, all or none. It returns how many. The error about an event is an *EventError.
func Retry(
	ctx context.Context, db *readmodel.DB, p projection.Definition, stream string,
) (int, error) {
	return takeLetters(ctx, db, p.Name, stream, func(
		ctx context.Context, tx pgx.Tx, at generation.Checkpoint, recorded []eventstore.Recorded,
	) error {
		facts, err := p.Decode(recorded)
		if err != nil {
			return err
		}
		changed, err := p.Apply(ctx, tx.Conn(), at.Schema(), p.Folds(db.MasterKey), facts)
		if err != nil {
			return err
		}
		telling := sqlbatch.New(at.Schema())
		generation.Announce(telling, p.Name, at.Position, changed)
		return telling.Send(ctx, tx.Conn())
	})
}

// Discard removes the dead letters of a projection, of one stream or of all if that is empty: the
// read model stays without their effect. It returns how many.
func Discard(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	return takeLetters(
		ctx, db, name, stream,
		func(context.Context, pgx.Tx, generation.Checkpoint, []eventstore.Recorded) error {
			return nil
		},
	)
}

type takeFunc = func(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint, recorded []eventstore.Recorded,
) error

// takeLetters hands the dead letters of the generation that serves to take, and removes them. The
// owner is sent out of office, because it knows which streams have letters.
func takeLetters(
	ctx context.Context, db *readmodel.DB, name, stream string, take takeFunc,
) (n int, err error) {
	serving, err := generation.Serving(ctx, db, name)
	if err != nil {
		return 0, err
	}
	err = pgx.BeginFunc(ctx, db.Writers, func(tx pgx.Tx) error {
		at, err := depose(ctx, tx, generation.CheckpointOf(serving))
		if err != nil {
			return err
		}
		letters, err := removeLetters(ctx, tx, at, stream)
		if n = len(letters); n == 0 || err != nil {
			return err
		}
		if err := take(ctx, tx, at, letters); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "SELECT pg_notify($1, $2)", readmodel.ControlChannel, name)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("dead letters of %s: %w", name, err)
	}
	return n, nil
}

// depose sends the owner of a generation out of office within a transaction, which must end soon:
// the next owner waits for it. It returns the checkpoint, or ErrFenced where the generation is gone
// or no longer the one that serves. What an operator is told of is not lost in a crash.
func depose(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint,
) (generation.Checkpoint, error) {
	if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
		return at, err
	}
	var commit, prepare int64
	err := tx.QueryRow(ctx, `UPDATE linkledger.generations SET owner = '', epoch = epoch + 1, lease_until = 'epoch'
		WHERE name = $1 AND generation = $2 AND serving RETURNING epoch, commit_pos, prepare_pos`,
		at.Name, at.Generation).
		Scan(&at.Epoch, &commit, &prepare)
	if errors.Is(err, pgx.ErrNoRows) {
		return at, generation.ErrFenced
	}
	//nolint:gosec // never negative
	at.Position = eventstore.Position{Commit: uint64(commit), Prepare: uint64(prepare)}
	return at, err
}

// removeLetters returns the dead letters in the order of the log.
func removeLetters(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint, stream string,
) ([]eventstore.Recorded, error) {
	rows, err := tx.Query(ctx, `
		WITH removed AS (
			DELETE FROM linkledger.dead_letters WHERE name = $1 AND generation = $2 AND (stream = $3 OR $3 = '')
			RETURNING event_id, stream, revision, commit_pos, prepare_pos, type, recorded_at, data)
		SELECT * FROM removed ORDER BY commit_pos, prepare_pos`, at.Name, at.Generation, stream)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r eventstore.Recorded, err error) {
		err = row.Scan(
			&r.ID, &r.Stream, &r.Revision, &r.Position.Commit, &r.Position.Prepare, &r.Type,
			&r.Time, &r.Data,
		)
		return r, err
	})
}
