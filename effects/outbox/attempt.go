package outbox

// This file stores what came of an attempt.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrClaimLost means that a claim has run out and another worker has the queue, or that the
// receiver is gone. Nothing was stored.
var ErrClaimLost = errors.New("another worker has the queue, or its receiver is gone")

// Outcome is what came of an attempt to deliver a message.
type Outcome struct {
	Delivered bool
	// Status is the status of the answer, and Answer its beginning. Without an answer, Status is 0
	// and Answer is the reason.
	Status int
	Answer string
	// End is not empty if the receiver wants no more messages. It is the reason, for people.
	End string
}

// Retry says when a message that was not delivered is tried again.
type Retry struct {
	GiveUp bool          // it is not tried again
	After  time.Duration // until the next attempt for this queue
	// Receiver is the time until the next attempt for any queue of the receiver; 0: it does not
	// wait.
	Receiver time.Duration
}

// Delivered stores that a message was delivered, and extends the claim.
func (o *Outbox) Delivered(
	ctx context.Context, c Claim, m Message, started time.Time, got Outcome,
) error {
	return o.store(ctx, c, m, started, got, Done, func(batch *pgx.Batch) {
		batch.Queue(`UPDATE linkledger_durable.receivers
			SET failures = 0, failing_since = NULL, retry_at = '-infinity'
			WHERE effect = $1 AND id = $2 AND failures > 0`, o.effect, c.Receiver.ID)
	}, `claimed_until = clock_timestamp() + make_interval(secs => $4), failures = 0`,
		ClaimTime.Seconds())
}

// NotDelivered stores that an attempt has failed. The claim ends, unless the message is given up.
func (o *Outbox) NotDelivered(
	ctx context.Context, c Claim, m Message, started time.Time, got Outcome, retry Retry,
) error {
	failed := func(batch *pgx.Batch) {
		batch.Queue(`UPDATE linkledger_durable.receivers
			SET failures = greatest(failures, $5::int + 1),
				failing_since = coalesce(failing_since, $3),
				retry_at = greatest(retry_at, clock_timestamp() + make_interval(secs => $4))
			WHERE effect = $1 AND id = $2`,
			o.effect, c.Receiver.ID, started, retry.Receiver.Seconds(), c.Receiver.Failures)
	}
	if retry.GiveUp {
		return o.store(ctx, c, m, started, got, Failed, failed,
			`claimed_until = clock_timestamp() + make_interval(secs => $4), failures = 0`,
			ClaimTime.Seconds())
	}
	return o.store(ctx, c, m, started, got, Waiting, failed,
		`claim = NULL, claimed_until = '-infinity', failures = failures + 1,
			due_at = clock_timestamp() + make_interval(secs => $4)`, retry.After.Seconds())
}

// store updates the row of a message and, as set says with its one argument $4, the row of its
// queue. It does both only while the claim holds.
func (o *Outbox) store(
	ctx context.Context, c Claim, m Message, started time.Time, got Outcome, state string,
	more func(*pgx.Batch), set string, argument any,
) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		held, err := tx.Exec(ctx, `UPDATE linkledger_durable.queues SET `+set+`
			WHERE effect = $1 AND receiver = $2 AND subject = $3 AND claim = $5`,
			o.effect, c.Receiver.ID, c.Subject, argument, c.token)
		if err != nil {
			return err
		}
		if held.RowsAffected() == 0 {
			return ErrClaimLost
		}
		var batch pgx.Batch
		batch.Queue(`UPDATE linkledger_durable.outbox
			SET state = $2, attempts = attempts + 1, first_try = coalesce(first_try, $3),
				last_try = $3, status = $4, answer = $5
			WHERE effect = $1 AND receiver = $6 AND id = $7`, o.effect, state, started, got.Status,
			got.Answer, m.Receiver, m.ID)
		more(&batch)
		return tx.SendBatch(ctx, &batch).Close()
	})
	if err != nil && !errors.Is(err, ErrClaimLost) {
		err = fmt.Errorf("store the attempt of a message of %s: %w", o.effect, err)
	}
	return err
}

// Leave ends a claim. A queue without waiting messages is removed. Otherwise it is due at once, and
// more is true.
//
// The first statement locks the row, so that a message that is added meanwhile is seen by the
// second one, or finds no row and makes a new one.
func (o *Outbox) Leave(ctx context.Context, c Claim) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		held, err := tx.Exec(ctx, `UPDATE linkledger_durable.queues
			SET claim = NULL, claimed_until = '-infinity', due_at = clock_timestamp()
			WHERE effect = $1 AND receiver = $2 AND subject = $3 AND claim = $4`,
			o.effect, c.Receiver.ID, c.Subject, c.token)
		if err != nil || held.RowsAffected() == 0 {
			return err
		}
		removed, err := tx.Exec(ctx, `DELETE FROM linkledger_durable.queues
			WHERE effect = $1 AND receiver = $2 AND subject = $3 AND NOT EXISTS (
				SELECT FROM linkledger_durable.outbox
				WHERE effect = $1 AND receiver = $2 AND subject = $3 AND state = 'waiting')`,
			o.effect, c.Receiver.ID, c.Subject)
		more = err == nil && removed.RowsAffected() == 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("leave a queue of %s: %w", o.effect, err)
	}
	return more, nil
}

// Prune removes messages whose last attempt ended before a time and that do not wait, at most n.
func (o *Outbox) Prune(ctx context.Context, before time.Time, n int) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	removed, err := o.pool.Exec(ctx, `DELETE FROM linkledger_durable.outbox WHERE number IN (
		SELECT number FROM linkledger_durable.outbox
		WHERE effect = $1 AND state <> 'waiting' AND last_try < $2 LIMIT $3
		FOR UPDATE SKIP LOCKED) AND state <> 'waiting'`,
		o.effect, before, n)
	if err != nil {
		return 0, fmt.Errorf("remove old messages of %s: %w", o.effect, err)
	}
	return removed.RowsAffected(), nil
}
