package signedin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// maxIDToken is the length of the longest ID token that is kept. It has to fit into a URL.
const maxIDToken = 4096

// sealIDTokens is the purpose of the cipher of ID tokens.
const sealIDTokens = "linkledger ID token"

// sealer returns a cipher for a purpose. Its key is derived from a secret that only the browser
// has, such as the secret of the session. The database and its backups are therefore not enough to
// open sealed data.
func sealer(secret, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealIDToken encrypts an ID token under the secret of its session. It returns nil if there is none
// or if it is too long.
func sealIDToken(secret, token string) ([]byte, error) {
	if token == "" || len(token) > maxIDToken {
		return nil, nil
	}
	aead, err := sealer(secret, sealIDTokens)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, []byte(token), nil), nil //nolint:gosec // the cipher adds a nonce
}

// IDToken returns the ID token with which a session began, or an empty text if it is not kept.
func (k *Store) IDToken(ctx context.Context, id uuid.UUID, secret string) (string, error) {
	var sealed []byte
	err := k.schema.Pool.QueryRow(ctx, `
		SELECT id_token FROM linkledger_durable.sessions WHERE id = $1`, id).Scan(&sealed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", nil // the session has ended meanwhile
	case err != nil:
		return "", fmt.Errorf("read an ID token: %w", k.schema.Explain(err))
	case sealed == nil:
		return "", nil
	}
	aead, err := sealer(secret, sealIDTokens)
	if err != nil {
		return "", fmt.Errorf("open an ID token: %w", err)
	}
	token, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return "", fmt.Errorf("open an ID token: %w", err)
	}
	return string(token), nil
}

// SignOut is the message of an issuer that a session has ended there.
type SignOut struct {
	Token     []byte    // keyed hash of the id of the token with this message
	Expires   time.Time // the token is invalid from then on
	IssuerSID []byte    // keyed hash of the session at the issuer; nil: all sessions of the person
	User      uuid.UUID // the person; zero: not said, or not known here
}

// EndAtIssuer ends the sessions that an issuer has ended, and sessions of the person that have no
// IssuerSID. If the token was used before, it ends none, and fresh is false. When EndAtIssuer
// returns, no node accepts the sessions any more, and a crash of the database does not bring them
// back.
func (k *Store) EndAtIssuer(ctx context.Context, s SignOut, now time.Time) (fresh bool, err error) {
	err = k.schema.Durably(ctx, []string{signOuts, sessions}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			DELETE FROM linkledger_durable.issuer_sign_outs WHERE hash IN (
				SELECT hash FROM linkledger_durable.issuer_sign_outs WHERE expires_at <= $1
				LIMIT $2 FOR UPDATE SKIP LOCKED)`, now, maxTrimmed); err != nil {
			return err
		}
		added, err := tx.Exec(ctx, `
			INSERT INTO linkledger_durable.issuer_sign_outs (hash, expires_at) VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, s.Token, s.Expires)
		if err != nil || added.RowsAffected() == 0 {
			return err
		}
		fresh = true
		_, err = tx.Exec(ctx, `
			DELETE FROM linkledger_durable.sessions WHERE issuer_sid = $1
				OR user_id = $2 AND (issuer_sid IS NULL OR $1::bytea IS NULL)`,
			s.IssuerSID, s.User)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("end the sessions that an issuer has ended: %w", err)
	}
	return fresh, nil
}
