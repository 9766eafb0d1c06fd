package generation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/controlschema"
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
	err := db.NewSelect().Model(&all).ColumnExpr("*, "+controlschema.Vacant+" AS free").
		Order("name", "generation").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for generations: %w", err)
	}
	return all, nil
}

// Acquire makes this process the owner of a generation that no other process owns. The clock of the
// database decides whether the lease of the former owner has run out. Acquire returns false if
// another process was first, or if the last batch of the former owner is still running.
//
// In both cases the row is locked, by the other election or by the batch, and SKIP LOCKED makes the
// statement return at once. The new epoch fences the former owner: its next Advance or Renew fails
// with ErrFenced.
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
		controlschema.Vacant+`)
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

// silentFor is how long a transaction waits for the next message of its client before EndSilent
// ends it. It is longer than idle_in_transaction_session_timeout of writers.
const silentFor = 8 * time.Second

// EndSilent looks for a connection that locks the row of a generation without an owner, and whose
// client sends nothing. It ends that connection and returns the id of its PostgreSQL process. It
// returns 0 if there is no such connection.
//
// If a client is lost or suspended in the middle of its messages, its transaction is not idle to
// PostgreSQL, so no timeout ends it. Keepalives do not end it either if the client is suspended, or
// if a pooler or proxy is in between. EndSilent leaves a COPY alone, because a COPY waits for its
// client again and again.
func EndSilent(ctx context.Context, db bun.IDB, g readmodel.Generation) (process int, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var ended []int
	// The row's xmax is the transaction that has locked or changed it. MATERIALIZED keeps
	// PostgreSQL from ending a process before it has looked at all conditions.
	err = db.NewRaw(`
		WITH silent AS MATERIALIZED (
			SELECT a.pid FROM linkledger.generations AS g
			JOIN pg_stat_activity AS a ON a.backend_xid = g.xmax
			WHERE g.name = ?0 AND g.generation = ?1 AND `+controlschema.Vacant+`
				AND a.datname = current_database()
				AND a.state IN ('active', 'idle in transaction') AND a.wait_event = 'ClientRead'
				AND a.query NOT ILIKE 'COPY%'
				AND greatest(a.query_start, a.state_change) <
					clock_timestamp() - make_interval(secs => ?2))
		SELECT pid FROM silent WHERE pg_terminate_backend(pid)`,
		g.Name, g.Generation, silentFor.Seconds()).Scan(ctx, &ended)
	if err != nil {
		return 0, fmt.Errorf("end the silent connection that holds %s: %w", g.Name, err)
	}
	if len(ended) == 0 {
		return 0, nil
	}
	return ended[0], nil
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

// Storable returns the first line of a text in a form that PostgreSQL can store: valid UTF-8
// without NUL, at most 1000 bytes.
func Storable(text string) string {
	const most = 1000
	text, _, _ = strings.Cut(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?"), "\n")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
