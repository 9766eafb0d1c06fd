package outbox

// This file lets workers claim queues.

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Claim is the right of one worker to deliver the messages of a queue.
type Claim struct {
	Receiver Receiver
	Subject  string
	// Failures is the number of attempts that have failed with the first message of the queue.
	Failures int
	token    uuid.UUID
}

// ClaimTime is how long a claim lasts. Each delivered message extends it.
const ClaimTime = 30 * time.Second

// ClaimOf claims queues of a receiver that are due, at most n.
func (o *Outbox) ClaimOf(ctx context.Context, receiver uuid.UUID, n int) ([]Claim, error) {
	return o.claim(ctx, "id = $5", n, n, receiver)
}

// ClaimAny claims one queue that is due of each receiver that has one, at most n. It claims none of
// the receivers in except.
func (o *Outbox) ClaimAny(ctx context.Context, n int, except []uuid.UUID) ([]Claim, error) {
	if except == nil {
		except = []uuid.UUID{}
	}
	return o.claim(ctx, "id <> ALL($5)", n, 1, except)
}

// claim claims queues of the receivers that a condition selects. Claims that another worker makes
// at the same time are skipped. The inner query goes through an index for each receiver, so the
// queues of a receiver that gets nothing now cost nothing. The order of the receivers is random, so
// that none waits longer than others.
func (o *Outbox) claim(
	ctx context.Context, condition string, n, each int, argument any,
) ([]Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	token := uuid.New()
	rows, err := o.pool.Query(ctx, `
		WITH due AS MATERIALIZED (
			SELECT r.id, r.account_id, r.config, r.open, r.failures, r.failing_since, q.subject
			FROM (
				SELECT * FROM linkledger_durable.receivers AS r
				WHERE effect = $1 AND open AND retry_at <= now() AND `+condition+`
				ORDER BY random()) AS r
			CROSS JOIN LATERAL (
				SELECT subject FROM linkledger_durable.queues
				WHERE effect = r.effect AND receiver = r.id AND due_at <= now()
					AND claimed_until <= now()
				ORDER BY due_at LIMIT CASE WHEN r.failures > 0 THEN 1 ELSE $3::int END
				FOR UPDATE SKIP LOCKED) AS q
			LIMIT $2)
		UPDATE linkledger_durable.queues AS q
		SET claim = $4, claimed_until = clock_timestamp() + make_interval(secs => $6)
		FROM due WHERE q.effect = $1 AND q.receiver = due.id AND q.subject = due.subject
		RETURNING due.id, due.account_id, due.config, due.open, due.failures, due.failing_since,
			q.subject, q.failures`, o.effect, n, each, token, argument, ClaimTime.Seconds())
	if err != nil {
		return nil, fmt.Errorf("claim messages of %s: %w", o.effect, err)
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Claim, err error) {
		c.token = token
		var since *time.Time
		r := &c.Receiver
		err = row.Scan(&r.ID, &r.Account, &r.Config, &r.Open, &r.Failures, &since, &c.Subject,
			&c.Failures)
		if since != nil {
			r.FailingSince = *since
		}
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("claim messages of %s: %w", o.effect, err)
	}
	return claims, nil
}

// Waiting returns the first messages of a claimed queue, at most n.
func (o *Outbox) Waiting(ctx context.Context, c Claim, n int) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	rows, err := o.pool.Query(ctx, `
		SELECT id, receiver, subject, commit_pos, event_at, kind, body, attempts, first_try
		FROM linkledger_durable.outbox
		WHERE effect = $1 AND receiver = $2 AND subject = $3 AND state = 'waiting'
		ORDER BY number LIMIT $4`, o.effect, c.Receiver.ID, c.Subject, n)
	if err == nil {
		var waiting []Message
		if waiting, err = pgx.CollectRows(rows, scanMessage); err == nil {
			return waiting, nil
		}
	}
	return nil, fmt.Errorf("messages of %s: %w", o.effect, err)
}

func scanMessage(row pgx.CollectableRow) (m Message, err error) {
	var first *time.Time
	err = row.Scan(&m.ID, &m.Receiver, &m.Subject, &m.Commit, &m.At, &m.Kind, &m.Body,
		&m.Attempts, &first)
	if first != nil {
		m.FirstTry = *first
	}
	return m, err
}
