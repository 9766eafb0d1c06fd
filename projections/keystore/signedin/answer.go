package signedin

// This file stores the answers of the consoles to forms. If a browser sends a form again, it gets
// the stored answer, and nothing is done twice.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxAnswers bounds the answers of one owner. A further one drops the oldest.
const maxAnswers = 100

// sealAnswers is the purpose of the cipher of answers.
const sealAnswers = "linkledger answer"

// ClaimAnswer lets one request at a time make the answer of a form. Requests with the same name are
// repeats of the same form. If claimed is true, the caller makes the answer and stores it with
// StoreAnswer. Otherwise answer is the stored answer, or nil while another request makes it.
//
// A claim ends after lease. So a repeat can try again if the process of the first request was
// killed. The answer of a form that was refused is stored as open, and can be claimed again.
//
// The name MUST be a secret of the browser that sends the form. It is not stored.
func (k *Store) ClaimAnswer(
	ctx context.Context, name, owner string, now time.Time, lease time.Duration,
) (answer []byte, claimed bool, err error) {
	err = pgx.BeginFunc(ctx, k.schema.Pool, func(tx pgx.Tx) error {
		added, err := tx.Exec(ctx, `
			INSERT INTO linkledger_durable.answers AS a (hash, owner, created_at, expires_at)
			VALUES ($1, $2, $3, $4)
			ON CONFLICT (hash) DO UPDATE SET owner = $2, sealed = NULL, created_at = $3,
				expires_at = $4, open = false
			WHERE a.open OR a.expires_at <= $3`,
			HashSession(name), HashSession(owner), now, now.Add(lease))
		if err != nil {
			return err
		}
		if claimed = added.RowsAffected() > 0; claimed {
			return trimAnswers(ctx, tx, owner, now)
		}
		return nil
	})
	if err == nil && !claimed {
		answer, err = k.Answer(ctx, name, now)
	}
	if err != nil {
		return nil, false, fmt.Errorf("begin the answer of a form: %w", k.schema.Explain(err))
	}
	return answer, claimed, nil
}

// trimAnswers deletes the oldest answers of an owner with too many, and some that have expired.
func trimAnswers(ctx context.Context, tx pgx.Tx, owner string, now time.Time) error {
	if _, err := tx.Exec(ctx, `
		DELETE FROM linkledger_durable.answers WHERE hash IN (
			SELECT hash FROM linkledger_durable.answers WHERE owner = $1
			ORDER BY created_at DESC, hash OFFSET $2 FOR UPDATE SKIP LOCKED)`,
		HashSession(owner), maxAnswers); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		DELETE FROM linkledger_durable.answers WHERE hash IN (
			SELECT hash FROM linkledger_durable.answers WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, now, maxTrimmed)
	return err
}

// StoreAnswer stores the answer of a form until it expires, encrypted under its name. If open is
// true, nothing was done, so the answer can be claimed again.
func (k *Store) StoreAnswer(
	ctx context.Context, name, owner string, answer []byte, open bool, now, expires time.Time,
) error {
	aead, err := sealer(name, sealAnswers)
	if err != nil {
		return fmt.Errorf("store the answer of a form: %w", err)
	}
	sealed := aead.Seal(nil, nil, answer, nil) //nolint:gosec // the cipher adds a nonce
	_, err = k.schema.Pool.Exec(ctx, `
		INSERT INTO linkledger_durable.answers (hash, owner, sealed, open, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (hash) DO UPDATE SET sealed = $3, open = $4, expires_at = $6`,
		HashSession(name), HashSession(owner), sealed, open, now, expires)
	if err != nil {
		return fmt.Errorf("store the answer of a form: %w", k.schema.Explain(err))
	}
	return nil
}

// Answer returns the answer of a form, or nil if there is none yet or it has expired.
func (k *Store) Answer(ctx context.Context, name string, now time.Time) ([]byte, error) {
	var sealed []byte
	err := k.schema.Pool.QueryRow(ctx, `
		SELECT sealed FROM linkledger_durable.answers WHERE hash = $1 AND expires_at > $2`,
		HashSession(name), now).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && sealed == nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer of a form: %w", k.schema.Explain(err))
	}
	aead, err := sealer(name, sealAnswers)
	if err != nil {
		return nil, fmt.Errorf("open the answer of a form: %w", err)
	}
	answer, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("open the answer of a form: %w", err)
	}
	return answer, nil
}
