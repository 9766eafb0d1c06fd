package generation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// DefaultLease is how long a suspended owner keeps its generation after its last renewal. A killed
// owner loses its presence lock, so the next election replaces it without waiting for the lease.
const DefaultLease = 6 * time.Second

// Key identifies a generation.
type Key struct {
	Name       string
	Generation int
}

// KeyOf returns the key of a row.
func KeyOf(g readmodel.Generation) Key { return Key{g.Name, g.Generation} }

// Candidate is a generation as an election reads it.
type Candidate struct {
	readmodel.Generation `bun:",extend"`

	Free bool `bun:"free,scanonly"` // no process owns it, or the owner has ended
}

// Candidates returns all generations.
func Candidates(ctx context.Context, db bun.IDB) ([]Candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var all []Candidate
	err := db.NewSelect().Model(&all).ColumnExpr("*, "+readmodel.Vacant+" AS free").
		Order("name", "generation").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for generations: %w", err)
	}
	return all, nil
}

// Acquire makes this process the owner of a generation that has none, by the database's clock. It
// returns false if another process is first, or if the last batch of the former owner is still
// running.
//
// SKIP LOCKED returns at once in both cases: another election or the batch has locked the row. The
// new epoch fences the former owner, whose next Advance or Renew fails with ErrFenced.
func Acquire(
	ctx context.Context, db bun.IDB, g readmodel.Generation, owner string, lease time.Duration,
) (Checkpoint, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var elected []readmodel.Generation
	err := db.NewRaw(`
		WITH vacant AS (
			SELECT name, generation FROM linkledger.generations
			WHERE name = ?0 AND generation = ?1 AND NOT paused AND (owner = ?2 OR `+
		readmodel.Vacant+`)
			FOR UPDATE SKIP LOCKED)
		UPDATE linkledger.generations AS g
		SET owner = ?2, epoch = g.epoch + 1, stopped = false,
			lease_until = clock_timestamp() + make_interval(secs => ?3)
		FROM vacant WHERE g.name = vacant.name AND g.generation = vacant.generation
		RETURNING g.*`, g.Name, g.Generation, owner, lease.Seconds()).Scan(ctx, &elected)
	if err != nil {
		return Checkpoint{}, false, fmt.Errorf("take over %s: %w", g.Name, err)
	}
	if len(elected) == 0 {
		return Checkpoint{}, false, nil
	}
	return CheckpointOf(elected[0]), true, nil
}

// Report is the state that an owner stores with each renewal of its lease.
type Report struct {
	Stopped   bool
	LastError string
	Rate      float64 // events per second
}

// Renew extends the lease and stores the report. It fails with ErrFenced if another process owns
// the generation.
func (c Checkpoint) Renew(ctx context.Context, db bun.IDB, lease time.Duration, r Report) error {
	return c.update(ctx, db, `UPDATE linkledger.generations
		SET lease_until = clock_timestamp() + make_interval(secs => ?3),
			stopped = ?4, last_error = ?5, rate = ?6
		WHERE name = ?0 AND generation = ?1 AND epoch = ?2`, lease.Seconds(), r.Stopped,
		Storable(r.LastError), r.Rate)
}

// Release ends the lease and starts an election, so that the next owner does not wait until the
// lease runs out. It fails with ErrFenced if another process owns the generation.
func (c Checkpoint) Release(ctx context.Context, db bun.IDB) error {
	return c.update(ctx, db, `WITH released AS (
			UPDATE linkledger.generations SET owner = '', lease_until = 'epoch', rate = 0
			WHERE name = ?0 AND generation = ?1 AND epoch = ?2 RETURNING name)
		SELECT pg_notify(?3, name) FROM released`, readmodel.ControlChannel)
}

func (c Checkpoint) update(ctx context.Context, db bun.IDB, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	result, err := db.NewRaw(
		statement, append([]any{c.Name, c.Generation, c.Epoch}, args...)...,
	).Exec(ctx)
	if err != nil {
		return fmt.Errorf("lease of %s: %w", c.Name, err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("lease of %s: %w", c.Name, err)
	}
	if changed == 0 {
		return fmt.Errorf("lease of %s: %w", c.Name, ErrFenced)
	}
	return nil
}

// Storable returns the first line of an error in a form that PostgreSQL can store: valid UTF-8
// without NUL, at most 1000 bytes.
func Storable(text string) string {
	const most = 1000
	text, _, _ = strings.Cut(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?"), "\n")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
