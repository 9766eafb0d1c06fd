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

// If the change that a command asks for is already in the log, the command stores nothing. Even so,
// the read models may lack the change, because an operator may have discarded its event. So each
// command says how the read models show its effect, and Check looks for this effect.

// Kind says what a command does to rights.
type Kind bool

// What a command does to rights.
const (
	Changes Kind = false // the command does not only end rights
	Ends    Kind = true  // the command only ends rights
)

// Left is the change that a command on an account or a person has left in the log.
type Left struct {
	// Position is the position of the last event of the command.
	Position eventstore.Position

	account string // id; empty: the command was about a person
	// shown reports whether the read models show the effect of the command.
	shown func(context.Context, *queries.DB) (bool, error)
}

// errWithout means that the read models do not show a change although they are past its event.
var errWithout = errors.New("stored, but without effect: the event of this change was discarded, " +
	"see linkledger projections dead-letters discarded accounts; dead-letters restore takes that " +
	"back for the next rebuild")

// Check returns an error if the read models are past the event of a change and do not show the
// change, because the event is set aside as a dead letter or was discarded. It returns nil if the
// read models show the change or have not reached its event, and if a later change of the account
// may have replaced the change.
func Check(ctx context.Context, db *readmodel.DB, does Kind, left Left) error {
	waiter := progress.NewWaiter(db)
	err := lacking(waiter.LacksEffect(ctx, left.Position.Commit, bool(does)))
	if err != nil {
		return err
	}
	passed, err := waiter.Passed(ctx, projections.Accounts, left.Position.Commit)
	if err != nil || !passed { // the caller has told the operator
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

// lacking returns the result of LacksEffect as an error.
func lacking(lacks bool, err error) error {
	if !lacks || err != nil {
		return err
	}
	return errors.New("stored, but without effect: earlier events of the same account or person " +
		"cannot be applied; see linkledger projections dead-letters list accounts")
}

// OfAccount returns a change to an account. The parameter is, a function, reports whether the
// account in the read models shows the change.
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

// OfKeys returns a change to the keys of an account. The parameter are, a function, gets the ids of
// the working keys in the read models, and reports whether these ids show the change.
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

// OfMember returns a change to a membership. An empty role means that the membership has ended.
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

// OfErasedPerson returns the erasure of a person.
func OfErasedPerson(user uuid.UUID, position eventstore.Position) Left {
	return Left{
		Position: position,
		shown: func(ctx context.Context, q *queries.DB) (bool, error) {
			known, err := q.People(ctx, []uuid.UUID{user})
			return known[user].Erased, err
		},
	}
}
