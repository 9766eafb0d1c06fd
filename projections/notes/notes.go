package notes

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// maxNoteKeys bounds how many keys of accounts are known. All are forgotten then, and asked for as
// they are needed.
const maxNoteKeys = 10_000

// Keys are the keys of accounts that whoever fills one generation knows. It comes to each erasure
// itself, in its place in the log, so it needs no other reason to forget.
type Keys struct {
	Master *readmodel.MasterKey       // nil: none was given
	known  map[string]*events.NoteKey // by account; nil: it was erased
}

// ask queues the question for the keys of accounts that are not known.
func (k *Keys) ask(s *sqlbatch.Batch, accounts map[string]struct{}) {
	if len(k.known)+len(accounts) > maxNoteKeys {
		clear(k.known)
	}
	var ids sqlbatch.UUIDs
	for account := range accounts {
		if _, ok := k.known[account]; ok {
			continue
		}
		if id, err := uuid.Parse(account); err == nil { // or else step names the fact
			ids = append(ids, sqlbatch.UUID(id))
		}
	}
	if len(ids) > 0 {
		s.Queue(readmodel.AccountKeysQuery, ids).Query(
			func(rows pgx.Rows) error { return k.scan(rows, ids) },
		)
	}
}

// scan fails where a key can't be had: that is no fault of an event, and passes when somebody gives
// the right one.
func (k *Keys) scan(rows pgx.Rows, asked sqlbatch.UUIDs) error {
	for rows.Next() {
		var account, master string
		var wrapped []byte
		if err := rows.Scan(&account, &wrapped, &master); err != nil {
			return err
		}
		if wrapped == nil {
			k.learn(account, nil)
			continue
		}
		secret, err := k.Master.Unwrap(account, master, wrapped)
		if err != nil {
			return err
		}
		key, err := events.NewNoteKey(secret)
		if err != nil {
			return err
		}
		k.learn(account, key)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range asked {
		if _, ok := k.known[id.String()]; !ok {
			return fmt.Errorf("account %s: %w", id, readmodel.ErrKeyLost)
		}
	}
	return nil
}

func (k *Keys) learn(account string, key *events.NoteKey) {
	if k.known == nil {
		k.known = make(map[string]*events.NoteKey)
	}
	k.known[account] = key
}

// openingFold hands the facts to a fold of links with their notes, as far as these can be read, and
// sees to erasures.
type openingFold struct {
	projection.Fold
	keys   *Keys
	tables Tables
	erased []uuid.UUID // accounts
}

// Opening returns a fold that opens the notes for another one, and erases them in its tables.
func Opening(of projection.Fold, keys *Keys, tables Tables) projection.Fold {
	return &openingFold{Fold: of, keys: keys, tables: tables}
}

func (n *openingFold) Read(s *sqlbatch.Batch, facts []projection.Event) {
	var accounts map[string]struct{}
	for _, f := range facts {
		if sealed := events.SealedNoteOf(f.Body); sealed != nil {
			if accounts == nil {
				accounts = make(map[string]struct{})
			}
			accounts[sealed.Account] = struct{}{}
		}
	}
	if accounts != nil {
		n.keys.ask(s, accounts)
	}
	n.Fold.Read(s, facts)
}

func (n *openingFold) Apply(f projection.Event) error {
	if _, ok := f.Body.(events.AccountErased); ok {
		id, err := f.Subject(events.StreamAccount)
		if err != nil {
			return err
		}
		n.erased = append(n.erased, id)
		n.keys.learn(id.String(), nil)
	}
	if sealed := events.SealedNoteOf(f.Body); sealed != nil {
		key, ok := n.keys.known[sealed.Account]
		if !ok {
			return fmt.Errorf(
				"%w: there is no account %q", projection.ErrContradiction, sealed.Account,
			)
		}
		var err error
		if f.Body, err = events.OpenNote(f.Body, key, f.Stream); err != nil {
			return fmt.Errorf("%w: %w", projection.ErrContradiction, err)
		}
	}
	return n.Fold.Apply(f)
}

func (n *openingFold) Write(s *sqlbatch.Batch) []string {
	for _, id := range n.erased {
		n.tables.erase(s, id)
	}
	return n.Fold.Write(s)
}
