package accountlist

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"linkledger/queries/lookup"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// Member is a person with a role in an account.
type Member struct {
	Person `bun:"-"`

	Account  uuid.UUID `bun:"account_id"`
	Username string    `bun:"username"` // of the account
	User     uuid.UUID `bun:"user_id"`
	Role     string    `bun:"role"`
	Group    string    `bun:"group_name"` // the group that gives the person the role; empty: none
	Since    time.Time `bun:"since"`      // when the role was given
	Changed  int64     `bun:"changed"`    // commit position at which the role was given
}

// Members returns the members of an account, in the order in which they got their roles.
func (q *Reader) Members(ctx context.Context, account uuid.UUID) ([]Member, error) {
	members, err := q.members(ctx, q.db.NewSelect().Where("member.account_id = ?", account))
	if err != nil {
		return nil, lookup.Failed("members", err)
	}
	users := make([]uuid.UUID, len(members))
	for i, member := range members {
		users[i] = member.User
	}
	people, err := q.People(ctx, users)
	if err != nil {
		return nil, err
	}
	for i := range members {
		members[i].Person = people[members[i].User]
	}
	return members, nil
}

// Memberships returns the memberships of a person. It leaves Person empty.
func (q *Reader) Memberships(ctx context.Context, user uuid.UUID) ([]Member, error) {
	members, err := q.members(ctx, q.db.NewSelect().Where("member.user_id = ?", user))
	if err != nil {
		return nil, lookup.Failed("memberships", err)
	}
	return members, nil
}

// LastAccount returns the account of the session that a person used last. It returns the zero id if
// there is none.
func (q *Reader) LastAccount(ctx context.Context, user uuid.UUID) (account uuid.UUID, err error) {
	err = q.db.NewRaw(`
		SELECT coalesce(account_id, '00000000-0000-0000-0000-000000000000')
		FROM linkledger_durable.sessions
		WHERE user_id = ? ORDER BY used_at DESC, id LIMIT 1`, user).
		Scan(ctx, &account)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return uuid.Nil, lookup.Failed("last account", err)
	}
	return account, nil
}

func (q *Reader) members(ctx context.Context, query *bun.SelectQuery) ([]Member, error) {
	members := []Member{}
	err := query.TableExpr("linkledger.account_members AS member").
		ColumnExpr("member.account_id, account.username, member.user_id, member.role").
		ColumnExpr("member.group_name, member.since, member.changed").
		Join("JOIN linkledger.accounts AS account ON account.id = member.account_id").
		Where("member.removed_at IS NULL").OrderExpr("member.changed, member.user_id").
		Scan(ctx, &members)
	return members, err
}
