// Package sessionlist lists browser sessions: the sessions of an account, and for operators the
// sessions of operators and the sessions without an account.
package sessionlist

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/projections/keystore/signedin"
	"linkledger/projections/readmodel"
	"linkledger/queries/accountlist"
	"linkledger/queries/lookup"
)

// Session is a session as lists show it.
type Session struct {
	ID       uuid.UUID `bun:"id"`
	Operator bool      `bun:"operator"` // it is the session of an operator
	Username string    `bun:"username"` // of the account; empty: none
	Key      string    `bun:"key_id"`   // id of the key that signed in; empty: none did
	KeyName  string    `bun:"key_name"` // empty: the key has none
	User     uuid.UUID `bun:"user_id"`  // who signed in; zero: a key or a one-time link did
	UserName string    `bun:"-"`        // as Person.Label returns it
	Address  string    `bun:"address"`  // keyed hash
	Agent    string    `bun:"agent"`    // browser and system
	Begun    time.Time `bun:"created_at"`
	Used     time.Time `bun:"used_at"` // at most a minute before the last use
}

// Reader reads lists of sessions. It is safe for concurrent use.
type Reader struct {
	db       *readmodel.DB
	accounts *accountlist.Reader
}

// New returns a Reader of a prepared database.
func New(db *readmodel.DB) *Reader { return &Reader{db: db, accounts: accountlist.New(db)} }

// MaxListed bounds a list of sessions.
const MaxListed = 1000

// Of selects sessions of an account. A field without a value does not restrict them.
type Of struct {
	Account uuid.UUID // required
	ID      uuid.UUID
	User    uuid.UUID // who signed in
	Key     string    // that signed in
}

// OfAccount returns the sessions of an account that have not ended, the latest first.
func (r *Reader) OfAccount(ctx context.Context, of Of, now time.Time) ([]Session, error) {
	return r.list(ctx, now, `session.account_id = ?0 AND (?1 = ?4 OR session.id = ?1)
		AND (?2 = ?4 OR session.user_id = ?2) AND (?3 = '' OR session.key_id = ?3)`,
		of.Account, of.ID, of.User, of.Key, uuid.Nil)
}

// forOperators selects the sessions that operators see.
const forOperators = "(session.operator OR session.account_id IS NULL)"

// ForOperators returns the sessions of operators and the sessions without an account that have not
// ended, the latest first.
func (r *Reader) ForOperators(ctx context.Context, now time.Time) ([]Session, error) {
	return r.list(ctx, now, forOperators)
}

// Find returns one of the sessions of ForOperators, by id. It fails with lookup.ErrNotFound if
// there is none.
func (r *Reader) Find(ctx context.Context, id uuid.UUID, now time.Time) (Session, error) {
	list, err := r.list(ctx, now, forOperators+" AND session.id = ?", id)
	if err != nil {
		return Session{}, err
	}
	if len(list) == 0 {
		return Session{}, fmt.Errorf("session %s: %w", id, lookup.ErrNotFound)
	}
	return list[0], nil
}

// list returns the sessions that have not ended and that a condition selects.
func (r *Reader) list(
	ctx context.Context, now time.Time, condition string, args ...any,
) ([]Session, error) {
	list := []Session{}
	err := r.db.NewRaw(`
		SELECT session.id, session.operator, coalesce(account.username, '') AS username,
			session.key_id, coalesce(key.name, '') AS key_name, session.user_id, session.address,
			session.agent, session.created_at, session.used_at
		`+accountlist.LiveSessions+` AND ?
		ORDER BY session.created_at DESC, session.id LIMIT ?`,
		now.Add(-signedin.SessionMax), now.Add(-signedin.SessionIdle),
		bun.SafeQuery(condition, args...), MaxListed,
	).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	users := make([]uuid.UUID, 0, len(list))
	for _, s := range list {
		if s.User != uuid.Nil {
			users = append(users, s.User)
		}
	}
	people, err := r.accounts.People(ctx, users)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].UserName = people[list[i].User].Label()
	}
	return list, nil
}
