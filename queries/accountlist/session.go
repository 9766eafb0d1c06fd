package accountlist

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore/signedin"
	"linkledger/queries/lookup"
)

// NewSession is who signs in.
type NewSession = signedin.Session

// SignOut is what an issuer says of a session that has ended there.
type SignOut = signedin.SignOut

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
func (q *Reader) Session(ctx context.Context, secret string, now time.Time) (Session, error) {
	var s Session
	err := q.db.NewRaw(`
		SELECT session.id AS session_id, session.user_id, session.operator,
			session.created_at AS begun_at, session.used_at, account.id, account.username,
			account.plan, account.active, account.erased, account.created_at,
			coalesce(to_char(account.expiration_date, 'YYYY-MM-DD'), '') AS expiration_date,
			member.role, CASE WHEN session.key_id <> '' THEN
				jsonb_build_object('id', key.id, 'hash', key.hash, 'terms', `+termsAsJSON+`)
			END AS key
		`+LiveSessions+` AND session.hash = ?`,
		now.Add(-signedin.SessionMax), now.Add(-signedin.SessionIdle),
		signedin.HashSession(secret)).Scan(ctx, &s)
	if err != nil {
		return Session{}, lookup.Failed("session", err)
	}
	return s, nil
}

// LiveSessions is the SQL that selects the sessions that have not ended: by time, because their key
// was revoked, because the role of their person has changed, or because the person is erased. Its
// arguments are the times after which they began and were last used.
const LiveSessions = `
	FROM linkledger_keys.sessions AS session
	LEFT JOIN linkledger.accounts AS account ON account.id = session.account_id
	LEFT JOIN linkledger.api_keys AS key ON key.account_id = session.account_id
		AND key.id = session.key_id AND key.revoked_at IS NULL
	LEFT JOIN linkledger.account_members AS member ON member.account_id = session.account_id
		AND member.user_id = session.user_id AND member.removed_at IS NULL
		AND member.changed = session.member_at
	LEFT JOIN linkledger.people AS person ON person.id = session.user_id
	WHERE session.created_at > ? AND session.used_at > ?
		AND (session.account_id IS NULL OR key.id IS NOT NULL OR member.role IS NOT NULL)
		AND (session.user_id IS NULL OR NOT person.erased)`
