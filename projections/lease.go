package projections

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// leaseTerm is how long a suspended owner stays in office after it was last heard of. A killed one
// loses its presence lock, and another one follows at the next election.
const leaseTerm = 6 * time.Second

// key names a generation.
type key struct {
	name       string
	generation int
}

func keyOf(g readmodel.Generation) key { return key{g.Name, g.Generation} }

// candidate is a generation as an election finds it.
type candidate struct {
	readmodel.Generation `bun:",extend"`

	Free bool `bun:"free,scanonly"` // no owner, or one that is gone
}

// candidates returns all generations.
func candidates(ctx context.Context, db bun.IDB) ([]candidate, error) {
	var all []candidate
	err := db.NewSelect().Model(&all).ColumnExpr("*, "+readmodel.Vacant+" AS free").
		Order("name", "generation").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for generations: %w", err)
	}
	return all, nil
}

// acquire makes this process the owner of a generation that has none, by the database's clock. It returns false where
// another one was first, or where the last batch of the old owner is still under way.
func acquire(ctx context.Context, db bun.IDB, g readmodel.Generation, owner string, lease time.Duration) (checkpoint, bool, error) {
	var elected []readmodel.Generation
	err := db.NewRaw(`
		WITH vacant AS (
			SELECT name, generation FROM linkledger.generations
			WHERE name = ?0 AND generation = ?1 AND (owner = ?2 OR `+readmodel.Vacant+`) AND NOT paused
			FOR UPDATE SKIP LOCKED)
		UPDATE linkledger.generations AS g
		SET owner = ?2, epoch = g.epoch + 1, lease_until = clock_timestamp() + make_interval(secs => ?3), stopped = false
		FROM vacant WHERE g.name = vacant.name AND g.generation = vacant.generation
		RETURNING g.*`, g.Name, g.Generation, owner, lease.Seconds()).Scan(ctx, &elected)
	if err != nil {
		return checkpoint{}, false, fmt.Errorf("take over %s: %w", g.Name, err)
	}
	if len(elected) == 0 {
		return checkpoint{}, false, nil
	}
	return checkpointOf(elected[0]), true, nil
}

// report is what an owner tells the database about itself with each renewal.
type report struct {
	stopped   bool
	lastError string
	rate      float64 // events per second
}

// renew extends the lease of an owner, or fails with ErrFenced.
func (c checkpoint) renew(ctx context.Context, db bun.IDB, lease time.Duration, r report) error {
	return c.update(ctx, db, `UPDATE linkledger.generations
		SET lease_until = clock_timestamp() + make_interval(secs => ?3), stopped = ?4, last_error = ?5, rate = ?6
		WHERE name = ?0 AND generation = ?1 AND epoch = ?2`, lease.Seconds(), r.stopped, storable(r.lastError), r.rate)
}

// release ends the lease, so that the next owner need not wait for it to run out.
func (c checkpoint) release(ctx context.Context, db bun.IDB) error {
	return c.update(ctx, db, `WITH released AS (
			UPDATE linkledger.generations SET owner = '', lease_until = 'epoch', rate = 0
			WHERE name = ?0 AND generation = ?1 AND epoch = ?2 RETURNING name)
		SELECT pg_notify(?3, name) FROM released`, readmodel.ControlChannel)
}

func (c checkpoint) update(ctx context.Context, db bun.IDB, statement string, args ...any) error {
	result, err := db.NewRaw(statement, append([]any{c.name, c.generation, c.epoch}, args...)...).Exec(ctx)
	if err != nil {
		return fmt.Errorf("lease of %s: %w", c.name, err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("lease of %s: %w", c.name, err)
	}
	if changed == 0 {
		return fmt.Errorf("lease of %s: %w", c.name, ErrFenced)
	}
	return nil
}

// storable returns the first line of an error, as PostgreSQL can hold it.
func storable(text string) string {
	const most = 1000
	text, _, _ = strings.Cut(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?"), "\n")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
