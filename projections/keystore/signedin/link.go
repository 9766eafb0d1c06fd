package signedin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// AddSignInLink stores a one-time link, with the session that the link starts when it is used. It
// returns the secret of the link, which is not stored. It also deletes expired links.
func (k *Store) AddSignInLink(
	ctx context.Context, s Session, now, expires time.Time,
) (secret string, err error) {
	secret = newSecret()
	err = k.schema.Durably(ctx, []string{signInLinks}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			DELETE FROM linkledger_durable.sign_in_links WHERE expires_at <= $1`, now); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO linkledger_durable.sign_in_links (hash, account_id, key_id, operator,
				expires_at)
			VALUES ($1, nullif($2, $6::uuid), $3, $4, $5)`,
			HashSession(secret), s.Account, s.Key, s.Operator, expires, uuid.Nil)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store a one-time link: %w", err)
	}
	return secret, nil
}

// UseSignInLink returns the session that a one-time link starts. It returns false if the link does
// not exist, was used before, or has expired. A used link does not work again, even after a crash
// of the database.
func (k *Store) UseSignInLink(
	ctx context.Context, secret string, now time.Time,
) (s Session, ok bool, err error) {
	var account *uuid.UUID
	err = k.schema.Durably(ctx, []string{signInLinks}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			DELETE FROM linkledger_durable.sign_in_links WHERE hash = $1 AND expires_at > $2
			RETURNING account_id, key_id, operator`, HashSession(secret), now).
			Scan(&account, &s.Key, &s.Operator)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Session{}, false, nil
	case err != nil:
		return Session{}, false, fmt.Errorf("use a one-time link: %w", err)
	}
	if account != nil {
		s.Account = *account
	}
	return s, true, nil
}
