package signedin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// When a session ends.
const (
	SessionIdle = 12 * time.Hour     // after its last use
	SessionMax  = 7 * 24 * time.Hour // after it began
	// sessionUsed is the minimum time between two uses of a session that are stored.
	sessionUsed = time.Minute
)

// maxSessions bounds the sessions of one person, of one key, and the sessions without person and
// key. A further session ends the oldest one.
const maxSessions = 100

// Session is who signed in with a browser.
type Session struct {
	ID       uuid.UUID
	Account  uuid.UUID // zero: none
	Key      string    // id of the API key that signed in; empty: none did
	User     uuid.UUID // the person who signed in; zero: none did
	MemberAt int64     // commit position of the person's role in the account
	Operator bool      // the person is an operator of the installation
	// KeepOperator makes the session take Operator from the other sessions of the person.
	KeepOperator bool
	Address      string // keyed hash of the address that signed in
	Agent        string // browser and system

	IssuerSID []byte // keyed hash of the session at the issuer; nil: it has none
	IDToken   string // of the issuer, with which the browser signs out there; empty: none
}

// newSecret returns 32 random bytes in base64.
func newSecret() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

// HashSession returns what is stored of the secret of a session or of a one-time link. It needs no
// salt and no slow hash: secrets are 32 random bytes.
func HashSession(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// StartSession stores a session under a new id, and returns the id and the secret that the browser
// gets. The secret is not stored. All sessions of the person then have the same Operator. When
// StartSession returns, that holds on all nodes, also after a crash of the database.
func (k *Store) StartSession(
	ctx context.Context, s Session, now time.Time,
) (id uuid.UUID, secret string, err error) {
	id, secret = uuid.New(), newSecret()
	sealed, err := sealIDToken(secret, s.IDToken)
	if err != nil {
		return uuid.Nil, "", fmt.Errorf("start a session: %w", err)
	}
	err = k.schema.Durably(ctx, []string{sessions}, func(tx pgx.Tx) error {
		if err := decideOperator(ctx, tx, &s, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO linkledger_durable.sessions (hash, id, account_id, key_id, user_id,
				member_at, operator, address, agent, created_at, used_at, issuer_sid, id_token)
			VALUES ($1, $2, nullif($3, $11::uuid), $4, nullif($5, $11::uuid), $6, $7, $8, $9,
				$10, $10, $12, $13)`,
			HashSession(secret), id, s.Account, s.Key, s.User, s.MemberAt, s.Operator, s.Address,
			s.Agent, now, uuid.Nil, s.IssuerSID, sealed); err != nil {
			return err
		}
		return k.trimSessions(ctx, tx, s, now)
	})
	if err != nil {
		return uuid.Nil, "", fmt.Errorf("start a session: %w", err)
	}
	return id, secret, nil
}

// decideOperator makes Operator the same in all sessions of the person. With KeepOperator, the new
// session takes it from the other sessions. Otherwise the other sessions take it from the new one.
func decideOperator(ctx context.Context, tx pgx.Tx, s *Session, now time.Time) error {
	if s.User == uuid.Nil {
		return nil
	}
	if !s.KeepOperator {
		return setOperator(ctx, tx, s.User, s.Operator)
	}
	if err := lockPerson(ctx, tx, s.User); err != nil {
		return err
	}
	return tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM linkledger_durable.sessions
			WHERE user_id = $1 AND operator AND created_at > $2 AND used_at > $3)`,
		s.User, now.Add(-SessionMax), now.Add(-SessionIdle)).Scan(&s.Operator)
}

// lockPerson locks the row of the key of a person until the end of the transaction. Everybody who
// signs in has such a row. If a person signs in twice at the same time, the second sign-in waits,
// and then sees the session of the first.
func lockPerson(ctx context.Context, tx pgx.Tx, user uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		SELECT FROM linkledger_durable.account_keys WHERE account_id = $1 FOR NO KEY UPDATE`, user)
	return err
}

// setOperator sets Operator in all sessions of a person.
func setOperator(ctx context.Context, tx pgx.Tx, user uuid.UUID, operator bool) error {
	if err := lockPerson(ctx, tx, user); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE linkledger_durable.sessions SET operator = $2
		WHERE user_id = $1 AND operator <> $2`, user, operator)
	return err
}

// EndOperator takes the role of an operator from all sessions of a person. When EndOperator
// returns, no node grants them the role any more, even after a crash of the database.
func (k *Store) EndOperator(ctx context.Context, user uuid.UUID) error {
	err := k.schema.Durably(ctx, []string{sessions}, func(tx pgx.Tx) error {
		return setOperator(ctx, tx, user, false)
	})
	if err != nil {
		return fmt.Errorf("end the role of an operator: %w", err)
	}
	return nil
}

// trimSessions deletes the oldest sessions beyond maxSessions, and some sessions that are over.
// Other transactions may delete the same sessions, so it skips locked rows.
func (k *Store) trimSessions(ctx context.Context, tx pgx.Tx, of Session, now time.Time) error {
	const oldest = `ORDER BY created_at DESC, id OFFSET $2 FOR UPDATE SKIP LOCKED`
	var err error
	if of.User != uuid.Nil {
		_, err = tx.Exec(ctx, `
			DELETE FROM linkledger_durable.sessions WHERE id IN (
				SELECT id FROM linkledger_durable.sessions WHERE user_id = $1 `+oldest+`)`,
			of.User, maxSessions)
	} else {
		_, err = tx.Exec(ctx, `
			DELETE FROM linkledger_durable.sessions WHERE id IN (
				SELECT id FROM linkledger_durable.sessions
				WHERE account_id IS NOT DISTINCT FROM nullif($1, $4::uuid) AND key_id = $3
					AND user_id IS NULL `+oldest+`)`,
			of.Account, maxSessions, of.Key, uuid.Nil)
	}
	if err != nil {
		return err
	}
	for _, over := range []struct {
		column string
		before time.Time
	}{{"created_at", now.Add(-SessionMax)}, {"used_at", now.Add(-SessionIdle)}} {
		if _, err := tx.Exec(ctx, `
			DELETE FROM linkledger_durable.sessions WHERE id IN (
				SELECT id FROM linkledger_durable.sessions WHERE `+over.column+` < $1
				ORDER BY `+over.column+` LIMIT $2 FOR UPDATE SKIP LOCKED)`,
			over.before, maxTrimmed); err != nil {
			return err
		}
	}
	return nil
}

// maxTrimmed is the maximum number of rows that one statement deletes because they have expired.
const maxTrimmed = 1000

// UseSession records that a session is used now, unless used, its last recorded use, is less than a
// minute ago.
func (k *Store) UseSession(ctx context.Context, id uuid.UUID, used, now time.Time) error {
	if now.Sub(used) < sessionUsed {
		return nil
	}
	_, err := k.schema.Pool.Exec(ctx, `
		UPDATE linkledger_durable.sessions SET used_at = $2
		WHERE id = $1 AND used_at < $2`, id, now)
	if err != nil {
		return fmt.Errorf("store the use of a session: %w", k.schema.Explain(err))
	}
	return nil
}

// MoveSession moves a session of a person to another account. memberAt is the commit position at
// which the person got the role in that account.
func (k *Store) MoveSession(
	ctx context.Context, id, account uuid.UUID, memberAt int64,
) error {
	err := k.execDurably(ctx, sessions, `
		UPDATE linkledger_durable.sessions SET account_id = $2, member_at = $3
		WHERE id = $1 AND user_id IS NOT NULL`, id, account, memberAt)
	if err != nil {
		return fmt.Errorf("move a session: %w", err)
	}
	return nil
}

// EndSession ends a session. When it returns, no node accepts the session any more, and a crash of
// the database does not bring it back.
func (k *Store) EndSession(ctx context.Context, id uuid.UUID) error {
	const statement = "DELETE FROM linkledger_durable.sessions WHERE id = $1"
	if err := k.execDurably(ctx, sessions, statement, id); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// EndSessionsOf ends all sessions of a person.
func (k *Store) EndSessionsOf(ctx context.Context, user uuid.UUID) error {
	const statement = "DELETE FROM linkledger_durable.sessions WHERE user_id = $1"
	if err := k.execDurably(ctx, sessions, statement, user); err != nil {
		return fmt.Errorf("end the sessions of a person: %w", err)
	}
	return nil
}
