package notes

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/events/sealing"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// maxNoteKeys bounds how many keys of accounts are cached. A full cache is emptied, and keys are
// read again when they are needed.
const maxNoteKeys = 10_000

// Keys caches the keys of accounts for one generation. The projector of a generation applies every
// erasure at its position in the log, so the cache needs no other invalidation.
type Keys struct {
	Master *keyfile.MasterKey      // nil: none was given
	cached map[string]*sealing.Key // by account; nil: erased
	lost   keystore.Lost
	asked  bool // the database was asked which keys are lost
}

// queueQuery queues the query for the keys of accounts that are not cached.
func (k *Keys) queueQuery(s *sqlbatch.Batch, accounts map[string]struct{}) {
	if !k.asked {
		s.Queue(keystore.LostKeysQuery).Query(k.scanLost)
	}
	if len(k.cached)+len(accounts) > maxNoteKeys {
		clear(k.cached)
	}
	var ids sqlbatch.UUIDs
	for account := range accounts {
		if _, ok := k.cached[account]; ok {
			continue
		}
		if id, err := uuid.Parse(account); err == nil { // else Apply returns the error
			ids = append(ids, sqlbatch.UUID(id))
		}
	}
	if len(ids) > 0 {
		s.Queue(keystore.AccountKeysQuery, ids).Query(k.scan)
	}
}

// scan reads keys into the cache. It fails if a key cannot be unwrapped. No event is at fault then,
// so the projection can go on once an operator supplies the right master key. A missing key is no
// error here: see open.
func (k *Keys) scan(rows pgx.Rows) error {
	for rows.Next() {
		var account, master string
		var wrapped []byte
		if err := rows.Scan(&account, &wrapped, &master); err != nil {
			return err
		}
		if wrapped == nil {
			k.put(account, nil)
			continue
		}
		secret, err := k.Master.Unwrap(account, master, wrapped)
		if err != nil {
			return err
		}
		key, err := sealing.NewKey(secret)
		if err != nil {
			return err
		}
		k.put(account, key)
	}
	return rows.Err()
}

func (k *Keys) scanLost(rows pgx.Rows) (err error) {
	for rows.Next() {
		var value []byte
		if err := rows.Scan(&value); err != nil {
			return err
		}
		if k.lost, err = keystore.ParseLost(value); err != nil {
			return err
		}
	}
	k.asked = rows.Err() == nil
	return rows.Err()
}

func (k *Keys) put(account string, key *sealing.Key) {
	if k.cached == nil {
		k.cached = make(map[string]*sealing.Key)
	}
	k.cached[account] = key
}

// noteFold opens the sealed notes of events, as far as they can be opened, before it passes the
// events to another fold. It also erases the notes of erased accounts.
type noteFold struct {
	projection.Fold
	keys   *Keys
	tables Tables
	erased []uuid.UUID // accounts
}

// NewFold returns a fold that passes events with opened notes to another fold, and erases notes in
// tables.
func NewFold(inner projection.Fold, keys *Keys, tables Tables) projection.Fold {
	return &noteFold{Fold: inner, keys: keys, tables: tables}
}

func (n *noteFold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	var accounts map[string]struct{}
	for _, event := range batch {
		if sealed := sealing.SealedOf(event.Body); sealed != nil {
			if accounts == nil {
				accounts = make(map[string]struct{})
			}
			accounts[sealed.Account] = struct{}{}
		}
	}
	if accounts != nil {
		n.keys.queueQuery(s, accounts)
	}
	n.Fold.Read(s, batch)
}

func (n *noteFold) Apply(event projection.Event) error {
	if _, ok := event.Body.(events.AccountErased); ok {
		id, err := event.Subject(events.StreamAccount)
		if err != nil {
			return err
		}
		n.erased = append(n.erased, id)
		n.keys.put(id.String(), nil)
	}
	if sealing.SealedOf(event.Body) != nil {
		var err error
		if event.Body, err = n.keys.open(event); err != nil {
			return err
		}
	}
	return n.Fold.Apply(event)
}

// open returns the body of an event with its note opened. If the key is known to be lost, the note
// becomes a text that says so.
func (k *Keys) open(event projection.Event) (events.Event, error) {
	account := sealing.SealedOf(event.Body).Account
	key, ok := k.cached[account]
	isLost := k.lost.UpTo > 0 && event.Position.Commit <= k.lost.UpTo
	switch {
	case !ok && isLost:
		return sealing.Lose(event.Body), nil
	case !ok:
		return nil, fmt.Errorf("account %q: %w", account, keyfile.ErrKeyLost)
	}
	opened, err := sealing.Open(event.Body, key, event.Stream)
	if err != nil && isLost {
		return sealing.Lose(event.Body), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", projection.ErrContradiction, err)
	}
	return opened, nil
}

func (n *noteFold) Write(s *sqlbatch.Batch) []string {
	for _, id := range n.erased {
		n.tables.queueErasure(s, id)
	}
	return n.Fold.Write(s)
}
