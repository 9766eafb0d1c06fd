package outbox

// This file lists deliveries, and lets them be made again.

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The states of a delivery.
const (
	Waiting = "waiting"
	Done    = "delivered"
	Failed  = "failed" // given up
)

// Delivery is a message with what came of its attempts.
type Delivery struct {
	Message
	State   string
	LastTry time.Time // zero: none
	Status  int
	Answer  string
}

// List returns deliveries of a receiver, newest first, and how many there are. The empty state
// stands for all states.
func (o *Outbox) List(
	ctx context.Context, receiver uuid.UUID, state string, offset, limit int,
) (page []Delivery, total int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	const selected = ` FROM linkledger_durable.outbox
		WHERE effect = $1 AND receiver = $2 AND ($3 = '' OR state = $3)`
	err = o.pool.QueryRow(
		ctx, "SELECT count(*)"+selected, o.effect, receiver, state,
	).Scan(&total)
	if err == nil {
		var rows pgx.Rows
		rows, err = o.pool.Query(ctx, `SELECT id, kind, event_at, state, attempts, last_try, status,
			answer`+selected+" ORDER BY number DESC OFFSET $4 LIMIT $5",
			o.effect, receiver, state, offset, limit)
		if err == nil {
			page, err = pgx.CollectRows(rows, scanDelivery)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list the deliveries of %s: %w", o.effect, err)
	}
	return page, total, nil
}

func scanDelivery(row pgx.CollectableRow) (d Delivery, err error) {
	var last *time.Time
	err = row.Scan(&d.ID, &d.Kind, &d.At, &d.State, &d.Attempts, &last, &d.Status, &d.Answer)
	if last != nil {
		d.LastTry = *last
	}
	return d, err
}

// Selection selects deliveries that have ended: the one with the ID, or all that have failed, or
// all about events since a time.
type Selection struct {
	ID     uuid.UUID
	Failed bool
	Since  time.Time
}

// Redeliver makes the selected deliveries of a receiver wait again, and returns how many there are.
// They keep their ids, and their order.
func (o *Outbox) Redeliver(
	ctx context.Context, receiver uuid.UUID, of Selection,
) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	condition, argument := "id = $3", any(of.ID)
	switch {
	case of.Failed:
		condition, argument = "state = $3", Failed
	case !of.Since.IsZero():
		condition, argument = "event_at >= $3", of.Since
	}
	err = o.pool.QueryRow(ctx, `
		WITH again AS (
			UPDATE linkledger_durable.outbox SET state = 'waiting', attempts = 0, first_try = NULL
			WHERE effect = $1 AND receiver = $2 AND state <> 'waiting' AND `+condition+`
			RETURNING subject),
		queued AS (
			INSERT INTO linkledger_durable.queues AS q (effect, receiver, subject)
			SELECT DISTINCT $1::text, $2::uuid, subject FROM again ORDER BY subject
			ON CONFLICT (effect, receiver, subject) DO UPDATE SET due_at = q.due_at)
		SELECT count(*) FROM again`, o.effect, receiver, argument).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("deliver messages of %s again: %w", o.effect, err)
	}
	return n, nil
}
