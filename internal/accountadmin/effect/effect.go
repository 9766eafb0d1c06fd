// Package effect checks that the read models show the change that a command of operators has made
// in the log. It MUST NOT change anything.
package effect

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

// A command whose change is already in the log stores nothing. The read models may lack the change
// all the same: an operator may have given its event up. So each command also says how the read
// models show its effect.

// Kind says what a command does to rights.
type Kind bool

// What a command does to rights.
const (
	Changes Kind = false
	Ends    Kind = true // it only ends rights
)

// Left is the change that a command on an account or a person has left in the log.
type Left struct {
	// Position is the position of the last event of the command.
	Position eventstore.Position

	account string // id; empty: the command was about a person
	// shown reports whether the read models show the effect of the command.
	shown func(context.Context, *queries.DB) (bool, error)
}

// errWithout is returned for a change that the read models do not show although they have all
// events up to it.
var errWithout = errors.New("stored, but without effect: the event of this change was given up, " +
	"see linkledger projections dead-letters discarded accounts; dead-letters restore takes that " +
	"back for the next rebuild")

// Check returns an error if the read models have passed a change and do not show it, because
// its event is set aside or was given up. A later change of the account may have replaced it.
func Check(ctx context.Context, db *readmodel.DB, does Kind, left Left) error {
	waiter := progress.NewWaiter(db)
	err := lacking(waiter.LacksEffect(ctx, left.Position.Commit, bool(does)))
	if err != nil {
		return err
	}
	passed, err := waiter.Passed(ctx, projections.Accounts, left.Position.Commit)
	if err != nil || !passed { // the operator was told that no projector runs
		return err
	}
	shown, err := left.shown(ctx, queries.New(db))
	if err != nil || shown {
		return err
	}
	account, err := uuid.Parse(left.account)
	if err != nil { // a person: no later change restores an erased person
		return errWithout
	}
	last, err := waiter.LastChange(ctx, account)
	if err == nil && last <= left.Position.Commit {
		err = errWithout
	}
	return err
}

// lacking returns an error if a change lacks its effect.
func lacking(lacks bool, err error) error {
	if !lacks || err != nil {
		return err
	}
	return errors.New("stored, but without effect: earlier events of the same account or person " +
		"cannot be applied; see linkledger projections dead-letters list accounts")
}

// OfAccount is a change to an account. is reports whether an account of the read models shows it.
func OfAccount(outcome accounts.Outcome, is func(accountlist.Account) bool) Left {
	return Left{
		Position: outcome.Position, account: outcome.Account.ID,
		shown: func(ctx context.Context, q *queries.DB) (bool, error) {
			shown, err := q.AccountByUsername(ctx, outcome.Account.Username)
			if errors.Is(err, queries.ErrNotFound) {
				return false, nil
			}
			return err == nil && is(shown), err
		},
	}
}

// OfKeys is a change to the keys of an account. are reports whether the ids of the working keys in
// the read models show it.
func OfKeys(
	account string, position eventstore.Position, are func(ids []string) bool,
) Left {
	return Left{
		Position: position, account: account,
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

// OfMember is a change to a membership. An empty role means no membership.
func OfMember(account string, user uuid.UUID, role string, position eventstore.Position) Left {
	return Left{
		Position: position, account: account,
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

// OfErasedPerson is the erasure of a person.
func OfErasedPerson(user uuid.UUID, position eventstore.Position) Left {
	return Left{
		Position: position,
		shown: func(ctx context.Context, q *queries.DB) (bool, error) {
			known, err := q.People(ctx, []uuid.UUID{user})
			return known[user].Erased, err
		},
	}
}
