package accountadmin

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/accountlist"
	"linkledger/queries/progress"
)

// A command that finds its change in the log already stores nothing, although the read models may
// not have the change: an operator may have given its event up. So each command also says what the
// read models show once it has had its effect.

// done is what a command on an account or a person has left in the log.
type done struct {
	position eventstore.Position
	account  string // id; empty: the command was about a person
	// shown reports whether the read models show what the command was to bring about.
	shown func(context.Context, *queries.DB) (bool, error)
}

// errWithout is returned for a change that the read models do not show although they have all
// events up to it.
var errWithout = errors.New("stored, but without effect: the event of this change was given up, " +
	"see linkledger projections dead-letters discarded accounts; dead-letters restore takes that " +
	"back for the next rebuild")

// checkDone returns an error if the read models have passed a change and do not show it, because
// its event is set aside or was given up. A later change of the account may have replaced it.
func checkDone(ctx context.Context, db *readmodel.DB, does effect, d done) error {
	waiter := progress.NewWaiter(db)
	err := effectError(waiter.LacksEffect(ctx, d.position.Commit, bool(does)))
	if err != nil {
		return err
	}
	passed, err := waiter.Passed(ctx, projections.Accounts, d.position.Commit)
	if err != nil || !passed { // the operator was told that no projector runs
		return err
	}
	shown, err := d.shown(ctx, queries.New(db))
	if err != nil || shown {
		return err
	}
	account, err := uuid.Parse(d.account)
	if err != nil { // a person, whom nothing restores
		return errWithout
	}
	last, err := waiter.LastChange(ctx, account)
	if err == nil && last <= d.position.Commit {
		err = errWithout
	}
	return err
}

// accountDone is what a command has left of an account that the read models show as is says.
func accountDone(outcome accounts.Outcome, is func(accountlist.Account) bool) done {
	return done{
		position: outcome.Position, account: outcome.Account.ID,
		shown: func(ctx context.Context, q *queries.DB) (bool, error) {
			shown, err := q.AccountByUsername(ctx, outcome.Account.Username)
			if errors.Is(err, queries.ErrNotFound) {
				return false, nil
			}
			return err == nil && is(shown), err
		},
	}
}

// keysDone is what a command has left of the keys of an account, if the read models show those that
// work as are says.
func keysDone(
	account string, position eventstore.Position, are func(ids []string) bool,
) done {
	return done{
		position: position, account: account,
		shown: func(ctx context.Context, q *queries.DB) (bool, error) {
			id, err := uuid.Parse(account)
			if err != nil {
				return false, err
			}
			keys, err := q.Keys(ctx, id)
			ids := make([]string, len(keys))
			for i, key := range keys {
				ids[i] = key.ID
			}
			return err == nil && are(ids), err
		},
	}
}

// memberDone is what a command has left of a membership. An empty role stands for none.
func memberDone(account string, user uuid.UUID, role string, position eventstore.Position) done {
	return done{
		position: position, account: account,
		shown: func(ctx context.Context, q *queries.DB) (bool, error) {
			id, err := uuid.Parse(account)
			if err != nil {
				return false, err
			}
			members, err := q.Members(ctx, id)
			i := slices.IndexFunc(members, func(m accountlist.Member) bool {
				return m.User == user
			})
			if i < 0 {
				return err == nil && role == "", err
			}
			return members[i].Role == role, err
		},
	}
}

// erasedPerson is what the erasure of a person has left.
func erasedPerson(user uuid.UUID, position eventstore.Position) done {
	return done{
		position: position,
		shown: func(ctx context.Context, q *queries.DB) (bool, error) {
			known, err := q.People(ctx, []uuid.UUID{user})
			return known[user].Erased, err
		},
	}
}
