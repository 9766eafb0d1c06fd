// Package sessionlist lists the sessions of browsers for operators: the sessions of operators, and
// the sessions without an account, which no account lists.
package sessionlist

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore"
	"linkledger/projections/readmodel"
	"linkledger/queries"
)

// Session is a session as operators see it.
type Session struct {
	ID       uuid.UUID `bun:"id"`
	Operator bool      `bun:"operator"` // it is the session of an operator
	Username string    `bun:"username"` // of the account; empty: none
	Key      string    `bun:"key_id"`   // id of the key that signed in; empty: none did
	KeyName  string    `bun:"key_name"` // empty: the key has none
	User     uuid.UUID `bun:"user_id"`  // who signed in; zero: a key or a one-time link did
	UserName string    `bun:"-"`        // as Person.Label returns it
	Agent    string    `bun:"agent"`    // browser and system
	Begun    time.Time `bun:"created_at"`
	Used     time.Time `bun:"used_at"` // at most a minute before the last use
}

// Reader reads lists of sessions. It is safe for concurrent use.
type Reader struct {
	db      *readmodel.DB
	queries *queries.DB
}

// New returns a Reader of a prepared database.
func New(db *readmodel.DB) *Reader { return &Reader{db: db, queries: queries.New(db)} }

// MaxListed bounds a list of sessions.
const MaxListed = 1000

// List returns the sessions that have not ended, the latest first.
func (r *Reader) List(ctx context.Context, now time.Time) ([]Session, error) {
	return r.list(ctx, uuid.Nil, now)
}

// Find returns the session of the list with an id. It fails with queries.ErrNotFound.
func (r *Reader) Find(ctx context.Context, id uuid.UUID, now time.Time) (Session, error) {
	list, err := r.list(ctx, id, now)
	if err != nil {
		return Session{}, err
	}
	if len(list) == 0 || id == uuid.Nil {
		return Session{}, fmt.Errorf("session %s: %w", id, queries.ErrNotFound)
	}
	return list[0], nil
}

// list returns all sessions if id is zero. A session ends as queries.DB.Session says.
func (r *Reader) list(ctx context.Context, id uuid.UUID, now time.Time) ([]Session, error) {
	list := []Session{}
	err := r.db.NewRaw(`
		SELECT session.id, session.operator, coalesce(account.username, '') AS username,
			session.key_id, coalesce(key.name, '') AS key_name, session.user_id, session.agent,
			session.created_at, session.used_at
		FROM linkledger_keys.sessions AS session
		LEFT JOIN linkledger.accounts AS account ON account.id = session.account_id
		LEFT JOIN linkledger.api_keys AS key ON key.account_id = session.account_id
			AND key.id = session.key_id AND key.revoked_at IS NULL
		LEFT JOIN linkledger.account_members AS member ON member.account_id = session.account_id
			AND member.user_id = session.user_id AND member.removed_at IS NULL
			AND member.changed = session.member_at
		LEFT JOIN linkledger.people AS person ON person.id = session.user_id
		WHERE (session.operator OR session.account_id IS NULL)
			AND session.created_at > ?0 AND session.used_at > ?1
			AND (session.account_id IS NULL OR key.id IS NOT NULL OR member.role IS NOT NULL)
			AND (session.user_id IS NULL OR NOT person.erased)
			AND (?2 = ?3 OR session.id = ?2)
		ORDER BY session.created_at DESC, session.id LIMIT ?4`,
		now.Add(-keystore.SessionMax), now.Add(-keystore.SessionIdle), id, uuid.Nil, MaxListed,
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
	people, err := r.queries.People(ctx, users)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].UserName = people[list[i].User].Label()
	}
	return list, nil
}
