package deadletter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// ErrFollows is the cause of a dead letter that was never tried because it follows another one in
// its stream.
var ErrFollows = errors.New("follows a dead letter of its stream")

// ErrUnreadable means that an event cannot be decoded: this version does not know its type, or its
// body is damaged.
var ErrUnreadable = errors.New("event cannot be read")

// Letter is an event that was set aside, with the reason.
type Letter struct {
	eventstore.Recorded

	Cause error
}

// Insert queues the dead letters of a generation.
func Insert(s *sqlbatch.Batch, at generation.Checkpoint, letters []Letter) {
	for _, l := range letters {
		s.Queue(`INSERT INTO linkledger.dead_letters
				(name, generation, commit_pos, prepare_pos, event_id, stream, revision, type,
				recorded_at, data, metadata, error)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			at.Name, at.Generation, sqlbatch.Signed(l.Position.Commit),
			sqlbatch.Signed(l.Position.Prepare), sqlbatch.UUID(l.ID), l.Stream,
			int64(l.Revision), generation.Storable(l.Type), sqlbatch.Time(l.Time),
			append([]byte{}, l.Data...), append([]byte{}, l.Metadata...),
			generation.Storable(l.Cause.Error()))
	}
}

// Parked returns the streams of a generation that have dead letters.
func Parked(
	ctx context.Context, db bun.IDB, at generation.Checkpoint,
) (map[string]struct{}, error) {
	var streams []string
	if err := db.NewSelect().Model((*readmodel.DeadLetter)(nil)).ColumnExpr("DISTINCT stream").
		Where("name = ? AND generation = ?", at.Name, at.Generation).
		Scan(ctx, &streams); err != nil {
		return nil, fmt.Errorf("dead letters of %s: %w", at.Name, err)
	}
	parked := make(map[string]struct{}, len(streams))
	for _, stream := range streams {
		parked[stream] = struct{}{}
	}
	return parked, nil
}

// StreamsAfter returns the streams of a generation that have dead letters and whose names follow
// after, in the order of their names. It returns at most limit streams.
func StreamsAfter(
	ctx context.Context, db bun.IDB, at generation.Checkpoint, after string, limit int,
) ([]string, error) {
	var streams []string
	if err := db.NewSelect().Model((*readmodel.DeadLetter)(nil)).ColumnExpr("DISTINCT stream").
		Where("name = ? AND generation = ? AND stream > ?", at.Name, at.Generation, after).
		Order("stream").Limit(int64(limit)).Scan(ctx, &streams); err != nil {
		return nil, fmt.Errorf("dead letters of %s: %w", at.Name, err)
	}
	return streams, nil
}

// List returns the dead letters of a projection, oldest first. An empty name stands for all
// projections.
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

// Of returns the dead letters of an event in the generations that serve.
func Of(
	ctx context.Context, db *readmodel.DB, event uuid.UUID,
) ([]readmodel.DeadLetter, error) {
	var letters []readmodel.DeadLetter
	if err := db.NewSelect().Model(&letters).
		Join("JOIN linkledger.generations AS g ON g.name = letter.name "+
			"AND g.generation = letter.generation AND g.serving").
		Where("letter.event_id = ?", event).Order("letter.name").Scan(ctx); err != nil {
		return nil, fmt.Errorf("dead letters of an event: %w", err)
	}
	return letters, nil
}

// Stream is a stream with events that a generation has set aside.
type Stream struct {
	Name       string `bun:"name"` // of the projection
	Generation int    `bun:"generation"`
	Stream     string `bun:"stream"`
	Events     int    `bun:"events"`
	// Revision, Type, Error and ParkedAt are those of the first of the events.
	Revision int64     `bun:"revision"`
	Type     string    `bun:"type"`
	Error    string    `bun:"error"`
	ParkedAt time.Time `bun:"parked_at"`
}

// Streams returns the streams with events that a serving generation has set aside, at most limit
// streams, the latest first. An empty name stands for all projections.
func Streams(
	ctx context.Context, db *readmodel.DB, name string, limit int,
) ([]Stream, error) {
	var streams []Stream
	// The error of the first event of a stream is the cause. The other events only follow it.
	if err := db.NewRaw(`
		SELECT name, generation, stream, events, revision, type, error, parked_at
		FROM (
			SELECT *, count(*) OVER parked AS events, row_number() OVER in_order AS number
			FROM linkledger.dead_letters
			WHERE (name = ?0 OR ?0 = '') AND (name, generation) IN
				(SELECT name, generation FROM linkledger.generations WHERE serving)
			WINDOW parked AS (PARTITION BY name, generation, stream),
				in_order AS (PARTITION BY name, generation, stream ORDER BY commit_pos, prepare_pos)
		) AS letters
		WHERE number = 1
		ORDER BY parked_at DESC, name, generation, stream LIMIT ?1`, name, limit).
		Scan(ctx, &streams); err != nil {
		return nil, fmt.Errorf("streams of dead letters: %w", err)
	}
	return streams, nil
}

// Summary is what a projection has set aside.
type Summary struct {
	Name    string `bun:"name"`    // of the projection
	Streams int    `bun:"streams"` // how many streams have events that are set aside
	Stream  string `bun:"stream"`  // that of the first dead letter in the log
	Error   string `bun:"error"`   // why that dead letter cannot be applied
}

// Summaries returns what each serving generation has set aside, in the order of the projections'
// names. It leaves out projections that have set nothing aside.
func Summaries(ctx context.Context, db *readmodel.DB) ([]Summary, error) {
	var summaries []Summary
	if err := db.NewRaw(`
		WITH counted AS (
			SELECT name, generation, count(DISTINCT stream) AS streams,
				min(commit_pos) AS commit_pos
			FROM linkledger.dead_letters
			WHERE (name, generation) IN
				(SELECT name, generation FROM linkledger.generations WHERE serving)
			GROUP BY name, generation)
		SELECT DISTINCT ON (name) name, streams, stream, error
		FROM counted JOIN linkledger.dead_letters USING (name, generation, commit_pos)
		ORDER BY name, prepare_pos`).Scan(ctx, &summaries); err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return summaries, nil
}

// wakeOwner makes the processes elect the next owner of the projection when tx is committed.
func wakeOwner(ctx context.Context, tx pgx.Tx, name string) error {
	_, err := tx.Exec(ctx, "SELECT pg_notify($1, $2)", readmodel.ControlChannel, name)
	return err
}

// revokeLease revokes the lease of the owner of a generation within a transaction and returns the
// checkpoint with its new epoch. The transaction MUST be short, because the next owner waits for
// it. revokeLease fails with ErrFenced if the generation is gone or no longer serves.
//
// The commit of tx then waits for the disk, so that a crash does not undo what an operator has seen
// to succeed.
func revokeLease(
	ctx context.Context, tx pgx.Tx, at generation.Checkpoint,
) (generation.Checkpoint, error) {
	if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
		return at, err
	}
	var commit, prepare int64
	err := tx.QueryRow(ctx, `UPDATE linkledger.generations
		SET owner = '', epoch = epoch + 1, lease_until = 'epoch'
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

// letterColumns are the columns of dead_letters from which readLetters makes an event.
const letterColumns = `event_id, stream, revision, commit_pos, prepare_pos, type, recorded_at, data,
	metadata`

func readLetters(
	ctx context.Context, tx pgx.Tx, query string, args ...any,
) ([]eventstore.Recorded, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r eventstore.Recorded, err error) {
		err = row.Scan(
			&r.ID, &r.Stream, &r.Revision, &r.Position.Commit, &r.Position.Prepare, &r.Type,
			&r.Time, &r.Data, &r.Metadata,
		)
		return r, err
	})
}
