package accountlist

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore/signedin"
	"linkledger/queries/lookup"
)

// NewSession describes who signs in.
type NewSession = signedin.Session

// SignOut is what an issuer says of a session that has ended there.
type SignOut = signedin.SignOut

// Session is the session of a browser, with the account in which it works.
type Session struct {
	ID       uuid.UUID `bun:"session_id"`
	User     uuid.UUID `bun:"user_id"` // who signed in; zero: a key did
	Operator bool      `bun:"operator"`
	Begun    time.Time `bun:"begun_at"`
	Used     time.Time `bun:"used_at"` // at most a minute before the last use

	// Account is the account in which the session works. It has no id if the person is a member of
	// no account.
	Account `bun:",extend"`

	Key  *Key   `bun:"key,type:jsonb"` // that signed in; nil: a person did
	Role string `bun:"role"`           // of the person in the account
}

// Session returns the session that has the secret. It returns ErrNotFound if there is none, or if
// the session has ended: see LiveSessions. It asks the database each time, so that a session ends
// on all nodes at once.
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

// LiveSessions is the SQL that selects the sessions that have not ended. A session ends by time,
// when its key is revoked, when the role of its person changes, or when the person is erased. The
// arguments are two times: a live session began after the first and was last used after the second.
const LiveSessions = `
	FROM linkledger_durable.sessions AS session
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
