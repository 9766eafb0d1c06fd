package queries

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore"
)

// NewSession is who signs in.
type NewSession = keystore.Session

// Session is the session of a browser with the account that it calls for.
type Session struct {
	ID       uuid.UUID `bun:"session_id"`
	User     uuid.UUID `bun:"user_id"` // who signed in; zero: a key did
	Operator bool      `bun:"operator"`
	Begun    time.Time `bun:"begun_at"`
	Used     time.Time `bun:"used_at"` // at most a minute before the last use

	// Account is the one that the session calls for. It has no id if the person is a member of
	// none.
	Account `bun:",extend"`

	Key  *Key   `bun:"key,type:jsonb"` // that signed in; nil: a person did
	Role string `bun:"role"`           // of the person in the account
}

// Session returns the session with a secret, or ErrNotFound if there is none or if it has ended: by
// time, because its key was revoked, or because the role of its person has changed. It asks the
// database each time, so that an ended session has ended on all nodes.
func (q *DB) Session(ctx context.Context, secret string, now time.Time) (Session, error) {
	var s Session
	err := q.db.NewRaw(`
		SELECT session.id AS session_id, session.user_id, session.operator,
			session.created_at AS begun_at, session.used_at, account.id, account.username,
			account.plan, account.active, account.erased, account.created_at,
			coalesce(to_char(account.expiration_date, 'YYYY-MM-DD'), '') AS expiration_date,
			member.role, CASE WHEN session.key_id <> '' THEN
				jsonb_build_object('id', key.id, 'hash', key.hash, 'terms', `+termsAsJSON+`)
			END AS key
		FROM linkledger_keys.sessions AS session
		LEFT JOIN linkledger.accounts AS account ON account.id = session.account_id
		LEFT JOIN linkledger.api_keys AS key ON key.account_id = session.account_id
			AND key.id = session.key_id AND key.revoked_at IS NULL
		LEFT JOIN linkledger.account_members AS member ON member.account_id = session.account_id
			AND member.user_id = session.user_id AND member.removed_at IS NULL
			AND member.changed = session.member_at
		LEFT JOIN linkledger.people AS person ON person.id = session.user_id
		WHERE session.hash = ? AND session.created_at > ? AND session.used_at > ?
			AND (session.account_id IS NULL OR key.id IS NOT NULL OR member.role IS NOT NULL)
			AND (session.user_id IS NULL OR NOT person.erased)`,
		keystore.HashSession(secret), now.Add(-keystore.SessionMax),
		now.Add(-keystore.SessionIdle)).Scan(ctx, &s)
	if err != nil {
		return Session{}, failed("session", err)
	}
	return s, nil
}

// SessionRecord is a session as lists show it.
type SessionRecord struct {
	ID       uuid.UUID `bun:"id"`
	Key      string    `bun:"key_id"`   // id of the key that signed in; empty: a person did
	KeyName  string    `bun:"key_name"` // empty: it has none
	User     uuid.UUID `bun:"user_id"`  // who signed in; zero: a key did
	UserName string    `bun:"-"`        // as Person.Label returns it
	Address  string    `bun:"address"`  // keyed hash
	Agent    string    `bun:"agent"`    // browser and system
	Begun    time.Time `bun:"created_at"`
	Used     time.Time `bun:"used_at"` // at most a minute before the last use
}

// SessionsOf selects sessions of an account. A field without a value does not restrict them.
type SessionsOf struct {
	Account uuid.UUID
	ID      uuid.UUID
	User    uuid.UUID // who signed in
	Key     string    // that signed in
}

// Sessions returns the sessions that have not ended, the latest first.
func (q *DB) Sessions(
	ctx context.Context, of SessionsOf, now time.Time,
) ([]SessionRecord, error) {
	list := []SessionRecord{}
	query := q.db.NewSelect().TableExpr("linkledger_keys.sessions AS session").
		ColumnExpr("session.id, session.key_id, session.user_id, session.address, session.agent").
		ColumnExpr("session.created_at, session.used_at, coalesce(key.name, '') AS key_name").
		Join("LEFT JOIN linkledger.api_keys AS key").
		JoinOn("key.account_id = session.account_id AND key.id = session.key_id").
		JoinOn("key.revoked_at IS NULL").
		Join("LEFT JOIN linkledger.account_members AS member").
		JoinOn("member.account_id = session.account_id AND member.user_id = session.user_id").
		JoinOn("member.removed_at IS NULL AND member.changed = session.member_at").
		Where("session.account_id = ?", of.Account).
		Where("session.created_at > ?", now.Add(-keystore.SessionMax)).
		Where("session.used_at > ?", now.Add(-keystore.SessionIdle)).
		Join("LEFT JOIN linkledger.people AS person ON person.id = session.user_id").
		Where("key.id IS NOT NULL OR member.role IS NOT NULL").
		Where("session.user_id IS NULL OR NOT person.erased").
		OrderExpr("session.created_at DESC, session.id").Limit(maxListedSessions)
	if of.ID != uuid.Nil {
		query = query.Where("session.id = ?", of.ID)
	}
	if of.User != uuid.Nil {
		query = query.Where("session.user_id = ?", of.User)
	}
	if of.Key != "" {
		query = query.Where("session.key_id = ?", of.Key)
	}
	if err := query.Scan(ctx, &list); err != nil {
		return nil, failed("sessions", err)
	}
	users := make([]uuid.UUID, 0, len(list))
	for _, s := range list {
		if s.User != uuid.Nil {
			users = append(users, s.User)
		}
	}
	people, err := q.People(ctx, users)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].UserName = people[list[i].User].Label()
	}
	return list, nil
}

// maxListedSessions bounds a list of sessions.
const maxListedSessions = 1000
