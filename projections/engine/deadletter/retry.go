package deadletter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Retry applies the dead letters of a projection and returns how many it has applied. If streams
// are given, it applies only dead letters of these streams. It applies them in the order of the
// log, in one transaction. If a dead letter cannot be applied, Retry applies each stream up to its
// first such dead letter, as a rebuild does, and returns the first error. The error about an event
// is an *EventError.
func Retry(
	ctx context.Context, db *readmodel.DB, p projection.Definition, streams ...string,
) (int, error) {
	n, err := retryAll(ctx, db, p, streams)
	failed, refused := errors.AsType[*projection.EventError](err)
	if !refused {
		return n, err
	}
	if len(streams) == 1 && failed.Index == 0 {
		return 0, err
	}
	if len(streams) == 0 {
		if streams, err = streamsOf(ctx, db, p.Name); err != nil {
			return 0, err
		}
	}
	err = nil
	for _, stream := range streams {
		applied, failure := retryStream(ctx, db, p, stream)
		_, refused := errors.AsType[*projection.EventError](failure)
		if failure != nil && !refused {
			return n, failure
		}
		n += applied
		if err == nil {
			err = failure
		}
	}
	return n, err
}

// retryAll applies all dead letters of streams, or none of them if one cannot be applied. If
// streams is nil, it applies the dead letters of all streams.
//
// It revokes the lease of the owner, because the owner keeps the set of streams that have dead
// letters in memory. The next owner reads that set anew.
func retryAll(
	ctx context.Context, db *readmodel.DB, p projection.Definition, streams []string,
) (n int, err error) {
	serving, err := generation.Serving(ctx, db, p.Name)
	if err != nil {
		return 0, err
	}
	err = pgx.BeginFunc(ctx, db.Writers, func(tx pgx.Tx) error {
		at, err := revokeLease(ctx, tx, generation.CheckpointOf(serving))
		if err != nil {
			return err
		}
		letters, err := readLetters(ctx, tx, `
			WITH removed AS (
				DELETE FROM linkledger.dead_letters
				WHERE name = $1 AND generation = $2 AND (stream = ANY($3) OR $3 IS NULL)
				RETURNING `+letterColumns+`)
			SELECT * FROM removed ORDER BY commit_pos, prepare_pos`,
			at.Name, at.Generation, streams)
		if n = len(letters); n == 0 || err != nil {
			return err
		}
		changed, err := apply(ctx, db, tx, p, at, letters, nil)
		if err != nil {
			return err
		}
		if err := announce(ctx, tx, at, changed); err != nil {
			return err
		}
		return wakeOwner(ctx, tx, p.Name)
	})
	if err != nil {
		return 0, fmt.Errorf("dead letters of %s: %w", p.Name, err)
	}
	return n, nil
}

// streamsOf returns the streams with events that the serving generation has set aside.
func streamsOf(ctx context.Context, db *readmodel.DB, name string) ([]string, error) {
	serving, err := generation.Serving(ctx, db, name)
	if err != nil {
		return nil, err
	}
	parked, err := Parked(ctx, db, generation.CheckpointOf(serving))
	return slices.Sorted(maps.Keys(parked)), err
}

// retryStream applies the dead letters of a stream up to the first one that cannot be applied. Of
// the later ones it applies only events that end rights, as the projector does. It returns the
// number of removed dead letters, and the error about the first remaining one.
func retryStream(
	ctx context.Context, db *readmodel.DB, p projection.Definition, stream string,
) (n int, err error) {
	serving, err := generation.Serving(ctx, db, p.Name)
	if err != nil {
		return 0, err
	}
	var refused error
	err = pgx.BeginFunc(ctx, db.Writers, func(tx pgx.Tx) error {
		at, err := revokeLease(ctx, tx, generation.CheckpointOf(serving))
		if err != nil {
			return err
		}
		letters, err := lettersOf(ctx, tx, at, stream)
		if err != nil {
			return err
		}
		var changed []string
		if n, changed, refused, err = applyPart(ctx, db, tx, p, at, letters); n == 0 || err != nil {
			return err
		}
		if err := remove(ctx, tx, at, letters[:n]); err != nil {
			return err
		}
		if err := explain(ctx, tx, at, letters[n:], refused); err != nil {
			return err
		}
		if err := announce(ctx, tx, at, changed); err != nil {
			return err
		}
		return wakeOwner(ctx, tx, at.Name)
	})
	if err != nil {
		return 0, fmt.Errorf("dead letters of %s: %w", p.Name, err)
	}
	return n, refused
}

// applyPart applies as many dead letters of a stream as possible, from the first one on. n is their
// number. Of the other dead letters it applies only events that end rights. changed has the keys
// that have changed. refused is the error about the first of the other dead letters, or nil if
// there are none.
func applyPart(
	ctx context.Context, db *readmodel.DB, tx pgx.Tx, p projection.Definition,
	at generation.Checkpoint, letters []eventstore.Recorded,
) (n int, changed []string, refused, err error) {
	n = len(letters)
	without := make(map[int]bool) // indexes of events that end rights but cannot be applied
	for n > 0 {
		err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) (err error) {
			var endings []projection.Event
			for i, r := range letters[n:] {
				if event, ok := p.Detached(r, n+i); ok && !without[n+i] {
					endings = append(endings, event)
				}
			}
			changed, err = apply(ctx, db, tx, p, at, letters[:n], endings)
			return err
		})
		failed, ok := errors.AsType[*projection.EventError](err)
		switch {
		case !ok:
			return n, changed, refused, err
		case failed.Index < n:
			n, refused = failed.Index, failed
		default:
			without[failed.Index] = true
		}
	}
	return 0, nil, refused, nil
}

// lettersOf returns the dead letters of a stream in the order of the log.
func lettersOf(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint, stream string,
) ([]eventstore.Recorded, error) {
	return readLetters(ctx, tx, `
		SELECT `+letterColumns+` FROM linkledger.dead_letters
		WHERE name = $1 AND generation = $2 AND stream = $3
		ORDER BY commit_pos, prepare_pos`, at.Name, at.Generation, stream)
}

// remove removes dead letters of one stream.
func remove(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint, letters []eventstore.Recorded,
) error {
	if len(letters) == 0 {
		return nil
	}
	commits, prepares := make([]int64, len(letters)), make([]int64, len(letters))
	for i, l := range letters {
		commits[i] = sqlbatch.Signed(l.Position.Commit)
		prepares[i] = sqlbatch.Signed(l.Position.Prepare)
	}
	_, err := tx.Exec(ctx, `DELETE FROM linkledger.dead_letters
		WHERE name = $1 AND generation = $2 AND (commit_pos, prepare_pos) IN
			(SELECT * FROM unnest($3::bigint[], $4::bigint[]))`,
		at.Name, at.Generation, commits, prepares)
	return err
}

// explain stores why dead letters of a stream stay: cause becomes the error of the first one.
func explain(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint, letters []eventstore.Recorded,
	cause error,
) error {
	if len(letters) == 0 || cause == nil {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE linkledger.dead_letters SET error = $5
		WHERE name = $1 AND generation = $2 AND commit_pos = $3 AND prepare_pos = $4`,
		at.Name, at.Generation, sqlbatch.Signed(letters[0].Position.Commit),
		sqlbatch.Signed(letters[0].Position.Prepare), generation.Storable(cause.Error()))
	return err
}

// CanRetry returns nil if the first dead letter of a stream can be applied now, and otherwise the
// error. It changes nothing and does not disturb the owner of the generation, so it may be called
// regularly.
func CanRetry(
	ctx context.Context, db *readmodel.DB, p projection.Definition, at generation.Checkpoint,
	stream string,
) (err error) {
	tx, err := db.Writers.Begin(ctx)
	if err != nil {
		return fmt.Errorf("dead letters of %s: %w", p.Name, err)
	}
	defer func() { err = errors.Join(err, tx.Rollback(ctx)) }()
	first, err := readLetters(ctx, tx, `
		SELECT `+letterColumns+` FROM linkledger.dead_letters
		WHERE name = $1 AND generation = $2 AND stream = $3
		ORDER BY commit_pos, prepare_pos LIMIT 1`, at.Name, at.Generation, stream)
	if err != nil {
		return err
	}
	_, err = apply(ctx, db, tx, p, at, first, nil)
	return err
}

// apply applies dead letters within a transaction, then later events that end rights, and returns
// the keys that have changed.
func apply(
	ctx context.Context, db *readmodel.DB, tx pgx.Tx, p projection.Definition,
	at generation.Checkpoint, recorded []eventstore.Recorded, endings []projection.Event,
) ([]string, error) {
	decoded, err := p.Decode(recorded)
	if err != nil {
		return nil, err
	}
	for i := range decoded {
		decoded[i].Detached = true
	}
	judgement, _, err := generation.JudgementOf(ctx, db, at)
	if err != nil {
		return nil, err
	}
	folds := p.Folds(projection.Given{Master: db.Keys.Master, Judgement: judgement})
	return p.Apply(ctx, tx.Conn(), at.Schema(), folds, append(decoded, endings...))
}

// announce notifies readers of the changed keys.
func announce(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint, changed []string,
) error {
	notifications := sqlbatch.New(at.Schema())
	generation.Announce(notifications, at.Name, at.Position, changed)
	return notifications.Send(ctx, tx.Conn())
}
