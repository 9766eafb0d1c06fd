package accounts

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// accountMembers holds the members of the accounts that a batch of events changes.
type accountMembers map[memberID]*changedMember

type memberID struct{ account, user uuid.UUID }

type changedMember struct {
	member
	dirty bool // the row has to be written
}

// read queues the query for the members of accounts. If all is true, it reads former members too.
func (m accountMembers) read(s *sqlbatch.Batch, accounts sqlbatch.UUIDs, all bool) {
	s.Queue(`SELECT `+memberColumns.List("")+` FROM ?schema.account_members
		WHERE account_id = ANY($1::uuid[]) AND (removed_at IS NULL OR $2::bool)`,
		accounts, all).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row changedMember
			if err := rows.Scan(memberColumns.Scan(&row.member)...); err != nil {
				return err
			}
			m[memberID{row.AccountID, row.UserID}] = &row
		}
		return rows.Err()
	})
}

func (m accountMembers) set(account uuid.UUID, e events.MemberSet, position int64) error {
	user, err := projection.ParseID(e.User)
	if err != nil {
		return err
	}
	m[memberID{account, user}] = &changedMember{
		member: member{
			AccountID: account, UserID: user, Role: e.Role, Group: e.Group, Since: e.At,
			Changed: position,
		},
		dirty: true,
	}
	return projection.CheckTime(e.At)
}

// remove ends the membership of a user. It does nothing if the user was not a member at the commit
// position.
func (m accountMembers) remove(account uuid.UUID, user string, at time.Time, position int64) {
	id, err := uuid.Parse(user)
	if row := m[memberID{account, id}]; err == nil && row != nil {
		row.end(at, position)
	}
}

func (m accountMembers) removeAll(account uuid.UUID, at time.Time, position int64) {
	for of, row := range m {
		if of.account == account {
			row.end(at, position)
		}
	}
}

// end ends a membership at a commit position. It does nothing if the membership began at or after
// the position, or ended before it. If the row has a later end of the membership already, the end
// at position replaces it.
func (r *changedMember) end(at time.Time, position int64) {
	if r.RemovedAt.IsZero() == (r.Changed < position) {
		r.RemovedAt, r.Changed, r.dirty = at, position, true
	}
}

func (m accountMembers) write(s *sqlbatch.Batch) {
	var rows []*member
	for _, row := range m {
		if row.dirty {
			rows = append(rows, &row.member)
		}
	}
	if len(rows) > 0 {
		s.Queue(memberColumns.Insert("?schema.account_members")+`
			ON CONFLICT (account_id, user_id) DO UPDATE SET `+memberColumns.Assign("EXCLUDED"),
			memberColumns.Arrays(rows)...)
	}
}
