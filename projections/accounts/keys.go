package accounts

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// accountKeys are the working keys of the accounts that a batch touches, and those that it revokes.
type accountKeys map[keyID]*changedKey

type keyID struct {
	account uuid.UUID
	id      string
}

type changedKey struct {
	key
	changed bool // it has to be written
}

// read queues the query for the keys of accounts, also the revoked ones if all is true.
func (k accountKeys) read(s *sqlbatch.Batch, accounts sqlbatch.UUIDs, all bool) {
	s.Queue(`SELECT `+keyColumns.List("")+` FROM ?schema.api_keys
		WHERE account_id = ANY($1::uuid[]) AND (revoked_at IS NULL OR $2::bool)`,
		accounts, all).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row changedKey
			if err := rows.Scan(keyColumns.Scan(&row.key)...); err != nil {
				return err
			}
			k[keyID{row.AccountID, row.ID}] = &row
		}
		return rows.Err()
	})
}

// working returns a key that is not revoked. No such key is an error.
func (k accountKeys) working(account uuid.UUID, id string) (*changedKey, error) {
	row := k[keyID{account, id}]
	if row == nil || !row.RevokedAt.IsZero() {
		return nil, fmt.Errorf(
			"%w: account %s has no working key %q", projection.ErrContradiction, account, id,
		)
	}
	row.changed = true
	return row, nil
}

func (k accountKeys) add(
	account uuid.UUID, id, hash string, terms events.KeyTerms, at time.Time,
) error {
	if known := k[keyID{account, id}]; known != nil && known.RevokedAt.IsZero() {
		return fmt.Errorf(
			"%w: account %s has a key %q", projection.ErrContradiction, account, id,
		)
	}
	row := &changedKey{
		key: key{AccountID: account, ID: id, Hash: hash, CreatedAt: at}, changed: true,
	}
	k[keyID{account, id}] = row
	if err := projection.CheckTime(at); err != nil {
		return err
	}
	return row.setTerms(terms)
}

func (r *changedKey) setTerms(terms events.KeyTerms) (err error) {
	r.Name, r.Tags = terms.Name, terms.Tags
	r.Scopes, r.Networks = strings.Join(terms.Scopes, " "), strings.Join(terms.Networks, " ")
	r.ExpirationDate, err = projection.ParseDate(terms.Expires)
	return err
}

// change changes the terms of a key. The revocation of the key may have been applied before a
// detached change.
func (k accountKeys) change(account uuid.UUID, e events.KeyChanged, detached bool) error {
	row := k[keyID{account, e.KeyID}]
	if row == nil || !detached {
		var err error
		if row, err = k.working(account, e.KeyID); err != nil {
			return err
		}
	}
	row.changed = true
	return row.setTerms(e.KeyTerms)
}

// revoke ends a key. The end of a key that is not known, or has ended, is nothing.
func (k accountKeys) revoke(account uuid.UUID, id string, at time.Time) {
	if row := k[keyID{account, id}]; row != nil && row.RevokedAt.IsZero() {
		row.RevokedAt, row.changed = at, true
	}
}

func (k accountKeys) revokeAll(account uuid.UUID, at time.Time) {
	for of, row := range k {
		if of.account == account && row.RevokedAt.IsZero() {
			row.RevokedAt, row.changed = at, true
		}
	}
}

func (k accountKeys) write(s *sqlbatch.Batch) {
	var rows []*key
	for _, row := range k {
		if row.changed {
			rows = append(rows, &row.key)
		}
	}
	if len(rows) > 0 {
		s.Queue(keyColumns.Insert("?schema.api_keys")+`
			ON CONFLICT (account_id, id) DO UPDATE SET `+keyColumns.Assign("EXCLUDED"),
			keyColumns.Arrays(rows)...)
	}
}
