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

// accountKeys holds keys of the accounts that a batch of events changes: at least the working keys,
// and the keys that the events name.
type accountKeys map[keyID]*changedKey

type keyID struct {
	account uuid.UUID
	id      string
}

type changedKey struct {
	key
	changed bool // the key has to be written
}

// keysOf returns the ids of the keys that the events of a batch name.
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

// read queues the query for the keys of accounts. If all is false, it reads only the working keys
// and the keys with one of the ids.
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

// knownAt reports whether a key was added before a commit position. It is false for a nil key.
func (r *changedKey) knownAt(position int64) bool { return r != nil && r.Added < position }

// worksAt reports whether a key was added before a commit position and not revoked before that
// position.
func (r *changedKey) worksAt(position int64) bool {
	return r.knownAt(position) && (r.Ended == 0 || r.Ended >= position)
}

// add adds a key. It fails if an earlier event added a key with the same id.
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

// change changes the terms of a key. It fails if the key is unknown, or was revoked before the
// event.
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

// revoke ends a key. It does nothing if the key is unknown, or was revoked before the event.
func (k accountKeys) revoke(account uuid.UUID, event projection.Event, e events.KeyRevoked) {
	k[keyID{account, e.KeyID}].end(event, e.At)
}

// end revokes a key if the key works at the commit position of an event.
func (r *changedKey) end(event projection.Event, at time.Time) {
	if position := event.CommitPosition(); r.worksAt(position) {
		r.RevokedAt, r.Ended, r.changed = event.Or(at), position, true
	}
}

// rotate ends all keys of an account, and adds one that may do everything. It never fails, because
// it ends rights. If a key has the id of the new key already, the new key replaces it.
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
