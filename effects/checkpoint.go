package effects

// This file reads and writes the row of an effect: its owner and its checkpoint.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"linkledger/effects/outbox"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/projections/readmodel/controlschema"
)

// errFenced means that another process owns the effect, or that its checkpoint has moved.
var errFenced = errors.New("another process owns the effect")

// answerTimeout bounds a transaction. A connection that was lost without being closed gives no
// answer.
const answerTimeout = 30 * time.Second

// checkpoint is the position up to which an effect has planned, under one owner.
type checkpoint struct {
	name     string
	epoch    int64
	position eventstore.Position
	witness  eventlog.Identity // the last event that is known to be in the log; zero: none
}

const checkpointColumns = "name, epoch, commit_pos, prepare_pos, witness_commit, " +
	"witness_prepare, witness_id"

func scanCheckpoint(row pgx.CollectableRow) (c checkpoint, err error) {
	var id pgtype.UUID
	err = row.Scan(&c.name, &c.epoch, &c.position.Commit, &c.position.Prepare,
		&c.witness.Position.Commit, &c.witness.Position.Prepare, &id)
	c.witness.ID = id.Bytes
	return c, err
}

func queryCheckpoint(
	ctx context.Context, pool *pgxpool.Pool, query string, args ...any,
) (c checkpoint, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	rows, err := pool.Query(ctx, query, args...)
	if err == nil {
		c, err = pgx.CollectExactlyOneRow(rows, scanCheckpoint)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, err
}

// exists reports whether the effect has begun.
func exists(ctx context.Context, pool *pgxpool.Pool, name string) (found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err = pool.QueryRow(ctx,
		"SELECT EXISTS (SELECT FROM linkledger_durable.effects WHERE name = $1)", name).Scan(&found)
	return found, err
}

// begin stores that an effect begins at a position, with its receivers there. It removes all other
// receivers and their messages. If the effect has begun before, from is its checkpoint. begin does
// nothing if another process was first.
func begin(
	ctx context.Context, pool *pgxpool.Pool, from checkpoint, at eventlog.Identity,
	receivers []outbox.Receiver,
) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		//nolint:gosec // positions are below 2^63
		made, err := tx.Exec(ctx, `INSERT INTO linkledger_durable.effects AS e
				(name, commit_pos, prepare_pos, witness_commit, witness_prepare, witness_id)
			VALUES ($1, $2, $3, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET commit_pos = $2, prepare_pos = $3,
				witness_commit = $2, witness_prepare = $3, witness_id = $4
			WHERE e.epoch = $5 AND e.epoch > 0`,
			from.name, int64(at.Position.Commit), int64(at.Position.Prepare), stored(at.ID),
			from.epoch)
		if err != nil || made.RowsAffected() == 0 {
			return err
		}
		return outbox.New(from.name, pool).Replace(ctx, tx, receivers)
	})
	if err != nil {
		return fmt.Errorf("begin effect %s: %w", from.name, err)
	}
	return nil
}

// stored returns the value of a column with the id of an event. The zero id is NULL.
func stored(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: id != uuid.Nil} }

// acquire makes a process the owner of an effect that has none, as generation.Acquire does.
func acquire(
	ctx context.Context, pool *pgxpool.Pool, name, owner string, lease time.Duration,
) (checkpoint, bool, error) {
	return queryCheckpoint(ctx, pool, `
		WITH vacant AS (
			SELECT name FROM linkledger_durable.effects
			WHERE name = $1 AND (owner = $2 OR `+controlschema.Vacant+`)
			FOR UPDATE SKIP LOCKED)
		UPDATE linkledger_durable.effects SET owner = $2, epoch = epoch + 1,
			lease_until = clock_timestamp() + make_interval(secs => $3)
		WHERE name IN (SELECT name FROM vacant) RETURNING `+checkpointColumns,
		name, owner, lease.Seconds())
}

// reread returns the checkpoint from the database. It fails with errFenced if another process owns
// the effect.
func (c checkpoint) reread(ctx context.Context, pool *pgxpool.Pool) (checkpoint, error) {
	now, found, err := queryCheckpoint(ctx, pool, "SELECT "+checkpointColumns+
		" FROM linkledger_durable.effects WHERE name = $1 AND epoch = $2", c.name, c.epoch)
	if err == nil && !found {
		err = errFenced
	}
	return now, err
}

// advance moves the checkpoint and applies changes, in one transaction. One statement checks the
// owner and the checkpoint and locks the row, as generation.Checkpoint.Advance does.
func (c checkpoint) advance(
	ctx context.Context, pool *pgxpool.Pool, to eventstore.Position, witness eventlog.Identity,
	lease time.Duration, skipped int, changes outbox.Changes,
) (checkpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	witness = cmp.Or(witness, c.witness)
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		//nolint:gosec // positions are below 2^63
		moved, err := tx.Exec(ctx, `UPDATE linkledger_durable.effects
			SET commit_pos = $3, prepare_pos = $4, witness_commit = $5, witness_prepare = $6,
				witness_id = $7, updated_at = clock_timestamp(), last_error = '',
				skipped = skipped + $8,
				lease_until = clock_timestamp() + make_interval(secs => $9)
			WHERE name = $1 AND epoch = $2 AND commit_pos = $10 AND prepare_pos = $11`,
			c.name, c.epoch, int64(to.Commit), int64(to.Prepare),
			int64(witness.Position.Commit), int64(witness.Position.Prepare), stored(witness.ID),
			skipped, lease.Seconds(), int64(c.position.Commit), int64(c.position.Prepare))
		if err != nil {
			return err
		}
		if moved.RowsAffected() == 0 {
			return errFenced
		}
		if !changes.IsEmpty() {
			// A message MUST NOT be delivered before it is on the disk: after a crash, the same id
			// could be given to other clicks.
			if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
				return err
			}
		}
		return outbox.New(c.name, pool).Apply(ctx, tx, changes)
	})
	if err != nil {
		return c, fmt.Errorf("checkpoint of effect %s: %w", c.name, err)
	}
	c.position, c.witness = to, witness
	return c, nil
}

// renew extends the lease, and stores why the effect makes no progress; empty: it does.
func (c checkpoint) renew(
	ctx context.Context, pool *pgxpool.Pool, lease time.Duration, lastError string,
) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	kept, err := pool.Exec(ctx, `UPDATE linkledger_durable.effects
		SET lease_until = clock_timestamp() + make_interval(secs => $3), last_error = $4
		WHERE name = $1 AND epoch = $2`, c.name, c.epoch, lease.Seconds(), lastError)
	if err == nil && kept.RowsAffected() == 0 {
		err = errFenced
	}
	return err
}

// release ends the lease, so that the next owner does not wait until it runs out.
func (c checkpoint) release(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `UPDATE linkledger_durable.effects
		SET owner = '', lease_until = 'epoch' WHERE name = $1 AND epoch = $2`, c.name, c.epoch)
	return err
}
