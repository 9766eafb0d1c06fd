package projections

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// maxNoteKeys bounds how many keys of accounts are known. All are forgotten then, and asked for as they are needed.
const maxNoteKeys = 10_000

// noteKeys are the keys of accounts that whoever fills one generation knows. It comes to each erasure itself, in its place
// in the log, so it needs no other reason to forget.
type noteKeys struct {
	master *readmodel.MasterKey       // nil: none was given
	known  map[string]*events.NoteKey // by account; nil: it was erased
}

// ask queues the question for the keys of accounts that are not known.
func (k *noteKeys) ask(s *statements, accounts map[string]struct{}) {
	if len(k.known)+len(accounts) > maxNoteKeys {
		clear(k.known)
	}
	var ids uuidColumn
	for account := range accounts {
		if _, ok := k.known[account]; ok {
			continue
		}
		if id, err := uuid.Parse(account); err == nil { // or else step names the fact
			ids = append(ids, toUUID(id))
		}
	}
	if len(ids) > 0 {
		s.queue(readmodel.AccountKeysQuery, ids).Query(func(rows pgx.Rows) error { return k.scan(rows, ids) })
	}
}

// scan fails where a key can't be had: that is no fault of an event, and passes when somebody gives the right one.
func (k *noteKeys) scan(rows pgx.Rows, asked uuidColumn) error {
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
		secret, err := k.master.Unwrap(account, master, wrapped)
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

func (k *noteKeys) learn(account string, key *events.NoteKey) {
	if k.known == nil {
		k.known = make(map[string]*events.NoteKey)
	}
	k.known[account] = key
}

// noteFold hands the facts to a fold of links with their notes, as far as these can be read, and sees to erasures.
type noteFold struct {
	fold
	keys   *noteKeys
	tables noteTables
	erased []uuid.UUID // accounts
}

// withNotes returns a fold that opens the notes for another one, and erases them in its tables.
func withNotes(of fold, keys *noteKeys, tables noteTables) fold {
	return &noteFold{fold: of, keys: keys, tables: tables}
}

func (n *noteFold) read(s *statements, facts []fact) {
	var accounts map[string]struct{}
	for _, f := range facts {
		if sealed := events.SealedNoteOf(f.body); sealed != nil {
			if accounts == nil {
				accounts = make(map[string]struct{})
			}
			accounts[sealed.Account] = struct{}{}
		}
	}
	if accounts != nil {
		n.keys.ask(s, accounts)
	}
	n.fold.read(s, facts)
}

func (n *noteFold) step(f fact) error {
	if _, ok := f.body.(events.AccountErased); ok {
		id, err := f.subject(events.StreamAccount)
		if err != nil {
			return err
		}
		n.erased = append(n.erased, id)
		n.keys.learn(id.String(), nil)
	}
	if sealed := events.SealedNoteOf(f.body); sealed != nil {
		key, ok := n.keys.known[sealed.Account]
		if !ok {
			return fmt.Errorf("%w: there is no account %q", ErrContradiction, sealed.Account)
		}
		var err error
		if f.body, err = events.OpenNote(f.body, key, f.Stream); err != nil {
			return fmt.Errorf("%w: %w", ErrContradiction, err)
		}
	}
	return n.fold.step(f)
}

func (n *noteFold) write(s *statements) []string {
	for _, id := range n.erased {
		n.tables.erase(s, id)
	}
	return n.fold.write(s)
}
