package outbox

// This file writes the changes of a batch, and reads the receivers.

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Apply writes changes in a transaction, which the caller commits together with the checkpoint. A
// message that the outbox has already is not added again.
func (o *Outbox) Apply(ctx context.Context, tx pgx.Tx, c Changes) error {
	if c.IsEmpty() {
		return nil
	}
	var batch pgx.Batch
	if len(c.Messages) > 0 { // queues before receivers, as workers lock them
		o.add(&batch, c.Messages)
	}
	for _, r := range c.Set {
		o.set(&batch, r)
	}
	if len(c.Remove) > 0 {
		for _, table := range []string{"queues", "outbox"} {
			batch.Queue("DELETE FROM linkledger_durable."+table+
				" WHERE effect = $1 AND receiver = ANY($2)", o.effect, c.Remove)
		}
		batch.Queue("DELETE FROM linkledger_durable.receivers WHERE effect = $1 AND id = ANY($2)",
			o.effect, c.Remove)
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("outbox of %s: %w", o.effect, err)
	}
	return nil
}

// Replace makes receivers the only ones, in a transaction. It removes all other receivers with
// their messages.
func (o *Outbox) Replace(ctx context.Context, tx pgx.Tx, receivers []Receiver) error {
	kept := make([]uuid.UUID, len(receivers))
	for i, r := range receivers {
		kept[i] = r.ID
	}
	rows, err := tx.Query(ctx, `SELECT id FROM linkledger_durable.receivers
		WHERE effect = $1 AND id <> ALL($2)`, o.effect, kept)
	if err != nil {
		return fmt.Errorf("receivers of %s: %w", o.effect, err)
	}
	gone, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return fmt.Errorf("receivers of %s: %w", o.effect, err)
	}
	return o.Apply(ctx, tx, Changes{Set: receivers, Remove: gone})
}

// set queues the insertion or the update of a receiver. A receiver that is opened again, or that
// has another configuration, starts without failures, and its messages are due at once.
func (o *Outbox) set(batch *pgx.Batch, r Receiver) {
	const anew = "(r.config <> excluded.config OR excluded.open AND NOT r.open)"
	batch.Queue(`
		UPDATE linkledger_durable.queues SET due_at = clock_timestamp(), failures = 0
		WHERE effect = $1 AND receiver = $2 AND EXISTS (
			SELECT FROM linkledger_durable.receivers
			WHERE effect = $1 AND id = $2 AND (config <> $4 OR NOT open AND $3))`,
		o.effect, r.ID, r.Open, r.Config)
	batch.Queue(`
		INSERT INTO linkledger_durable.receivers AS r (effect, id, account_id, config, open)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (effect, id) DO UPDATE SET
			config = excluded.config, open = excluded.open,
			failures = CASE WHEN `+anew+` THEN 0 ELSE r.failures END,
			failing_since = CASE WHEN `+anew+` THEN NULL ELSE r.failing_since END,
			retry_at = CASE WHEN `+anew+` THEN '-infinity' ELSE r.retry_at END`,
		o.effect, r.ID, r.Account, r.Config, r.Open)
}

// add queues the insertion of messages. The second statement makes the queues that do not exist. It
// locks the row of a queue that exists, so that a worker that finishes the queue at the same time
// sees the new message, or has removed the row before.
func (o *Outbox) add(batch *pgx.Batch, messages []Message) {
	n := len(messages)
	receivers, subjects := make([]uuid.UUID, n), make([]string, n)
	ids, commits, times := make([]uuid.UUID, n), make([]int64, n), make([]time.Time, n)
	kinds, bodies := make([]string, n), make([][]byte, n)
	for i, m := range messages {
		receivers[i], subjects[i], ids[i] = m.Receiver, m.Subject, m.ID
		commits[i] = int64(m.Commit) //nolint:gosec // below 2^63
		times[i], kinds[i], bodies[i] = m.At, m.Kind, m.Body
	}
	batch.Queue(`
		INSERT INTO linkledger_durable.outbox
			(effect, receiver, subject, id, commit_pos, event_at, kind, body)
		SELECT $1, m.receiver, m.subject, m.id, m.commit_pos, m.event_at, m.kind, m.body
		FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::bigint[], $6::timestamptz[],
			$7::text[], $8::bytea[]) WITH ORDINALITY
			AS m (receiver, subject, id, commit_pos, event_at, kind, body, place)
		ORDER BY m.place
		ON CONFLICT (effect, receiver, id) DO NOTHING`,
		o.effect, receivers, subjects, ids, commits, times, kinds, bodies)
	batch.Queue(`
		INSERT INTO linkledger_durable.queues AS q (effect, receiver, subject)
		SELECT DISTINCT $1::text, receiver, subject
		FROM unnest($2::uuid[], $3::text[]) AS m (receiver, subject)
		ORDER BY receiver, subject
		ON CONFLICT (effect, receiver, subject) DO UPDATE SET due_at = q.due_at`,
		o.effect, receivers, subjects)
}

// Receivers returns all receivers.
func (o *Outbox) Receivers(ctx context.Context) ([]Receiver, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	rows, err := o.pool.Query(ctx, `
		SELECT id, account_id, config, open, failures, failing_since
		FROM linkledger_durable.receivers WHERE effect = $1 ORDER BY id`, o.effect)
	if err == nil {
		var all []Receiver
		if all, err = pgx.CollectRows(rows, scanReceiver); err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("receivers of %s: %w", o.effect, err)
}

func scanReceiver(row pgx.CollectableRow) (r Receiver, err error) {
	var since *time.Time
	err = row.Scan(&r.ID, &r.Account, &r.Config, &r.Open, &r.Failures, &since)
	if since != nil {
		r.FailingSince = *since
	}
	return r, err
}
