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

// accountKeys are the working keys of the accounts that a batch touches, and the keys that it
// revokes.
type accountKeys map[keyID]*changedKey

type keyID struct {
	account uuid.UUID
	id      string
}

type changedKey struct {
	key
	changed bool // it has to be written
}

// keysOf returns the ids of the keys that events are about.
func keysOf(batch []projection.Event) []string {
	ids := []string{}
	for _, event := range batch {
		switch e := event.Body.(type) {
		case events.KeyRotated:
			ids = append(ids, e.KeyID)
		case events.KeyAdded:
			ids = append(ids, e.KeyID)
		case events.KeyChanged:
			ids = append(ids, e.KeyID)
		case events.KeyRevoked:
			ids = append(ids, e.KeyID)
		}
	}
	return ids
}

// read queues the query for keys of accounts: working keys and keys with the ids, or all keys.
func (k accountKeys) read(
	s *sqlbatch.Batch, accounts sqlbatch.UUIDs, ids []string, all bool,
) {
	s.Queue(`SELECT `+keyColumns.List("")+` FROM ?schema.api_keys
		WHERE account_id = ANY($1::uuid[])
			AND (revoked_at IS NULL OR id = ANY($2::text[]) OR $3::bool)`,
		accounts, ids, all).Query(func(rows pgx.Rows) error {
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

// knownAt reports whether a key was added before a position.
func (r *changedKey) knownAt(position int64) bool { return r != nil && r.Added < position }

// worksAt reports whether a key was added before a position and not revoked before it.
func (r *changedKey) worksAt(position int64) bool {
	return r.knownAt(position) && (r.Ended == 0 || r.Ended >= position)
}

// add adds a key. An id that is known is an error.
func (k accountKeys) add(
	account uuid.UUID, event projection.Event, added key, at time.Time,
) error {
	id := keyID{account, added.ID}
	if k[id].knownAt(event.CommitPosition()) {
		return fmt.Errorf(
			"%w: account %s has a key %q", projection.ErrContradiction, account, added.ID,
		)
	}
	added.AccountID, added.CreatedAt, added.Added = account, at, event.CommitPosition()
	k[id] = &changedKey{key: added, changed: true}
	return projection.CheckTime(at)
}

func setTerms(k *key, terms events.KeyTerms) (err error) {
	k.Name, k.Tags = terms.Name, terms.Tags
	k.Scopes, k.Networks = strings.Join(terms.Scopes, " "), strings.Join(terms.Networks, " ")
	k.ExpirationDate, err = projection.ParseDate(terms.Expires)
	return err
}

// change changes the terms of a key. One that does not work is an error.
func (k accountKeys) change(
	account uuid.UUID, event projection.Event, e events.KeyChanged,
) error {
	row := k[keyID{account, e.KeyID}]
	if !row.worksAt(event.CommitPosition()) {
		return fmt.Errorf(
			"%w: account %s has no working key %q", projection.ErrContradiction, account, e.KeyID,
		)
	}
	row.changed = true
	return setTerms(&row.key, e.KeyTerms)
}

// revoke ends a key. The end of a key that is not known, or has ended, is nothing.
func (k accountKeys) revoke(account uuid.UUID, event projection.Event, e events.KeyRevoked) {
	k[keyID{account, e.KeyID}].end(event, e.At)
}

// end revokes a key if it works at the position of an event.
func (r *changedKey) end(event projection.Event, at time.Time) {
	if position := event.CommitPosition(); r.worksAt(position) {
		r.RevokedAt, r.Ended, r.changed = event.Or(at), position, true
	}
}

// rotate ends all keys, and adds one that may do everything. It always applies, because it ends
// rights: the new key replaces one with its id.
func (k accountKeys) rotate(account uuid.UUID, event projection.Event, e events.KeyRotated) {
	for of, row := range k {
		if of.account == account {
			row.end(event, e.At)
		}
	}
	id, position := keyID{account, e.KeyID}, event.CommitPosition()
	row := &changedKey{changed: true, key: key{
		AccountID: account, ID: e.KeyID, Hash: e.KeyHash, CreatedAt: event.Or(e.At),
		Added: position,
	}}
	if known := k[id]; known.knownAt(position) {
		row.Added = known.Added
	}
	k[id] = row
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
