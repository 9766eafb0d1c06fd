package accountadmin

import (
	"context"
	"errors"
	"time"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/internal/accountadmin/effect"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// printedMember is the printed form of a member of an account.
type printedMember struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Mail  string    `json:"mail"`
	Role  string    `json:"role"`
	Group string    `json:"group"` // group that gives the role; empty: a person gave it
	Since time.Time `json:"since"`
}

// ListMembers prints the members of an account.
func ListMembers(ctx context.Context, o installation.Operator, username string) error {
	var members []accountlist.Member
	err := o.Query(ctx, func(ctx context.Context, q *queries.DB) error {
		account, err := q.AccountByUsername(ctx, username)
		if err != nil {
			return err
		}
		members, err = q.Members(ctx, account.ID)
		return err
	})
	if errors.Is(err, queries.ErrNotFound) {
		return usage.Errorf("there is no account %q", username)
	}
	if err != nil {
		return err
	}
	printed := make([]printedMember, len(members))
	rows := make([]console.Row, len(members))
	for i, m := range members {
		printed[i] = printedMember{
			ID: m.User.String(), Name: m.Name, Mail: m.Mail, Role: m.Role, Group: m.Group,
			Since: m.Since.UTC(),
		}
		rows[i] = console.Row{
			m.User, m.Name, m.Mail, m.Role,
			m.Group, console.Time(m.Since),
		}
	}
	return console.List(
		o.Stdout, o.JSON, printed,
		console.Row{"id", "name", "mail", "role", "group", "since"}, rows,
	)
}

// SetMember gives a person a role in an account.
func SetMember(
	ctx context.Context, o installation.Operator, username, user, role string,
) error {
	checked, err := access.CheckedRole(role)
	if err != nil {
		return usage.Wrap(err)
	}
	id, err := userID(user)
	if err != nil {
		return err
	}
	err = runOn(ctx, o, effect.Changes, func(
		ctx context.Context, store *eventstore.Store, r domain.Request,
	) (effect.Left, error) {
		person, err := o.People(store).Person(ctx, id.String())
		if err != nil {
			return effect.Left{}, err
		}
		known := o.Accounts(store)
		account, err := known.ID(ctx, username)
		if err != nil {
			return effect.Left{}, err
		}
		position, err := known.SetMember(
			ctx, r, account, accounts.Member{User: person.ID, Role: checked},
		)
		return effect.OfMember(account, id, string(checked), position), err
	})
	if err != nil {
		return err
	}
	awaitNodes(ctx)
	err = console.Printf(o.Stdout, "%s is %s of %s\n", id, checked, username)
	return err
}

// RemoveMember ends the membership of a person in an account. When it returns without a warning,
// the sessions of the person for the account have ended.
func RemoveMember(ctx context.Context, o installation.Operator, username, user string) error {
	id, err := userID(user)
	if err != nil {
		return err
	}
	err = run(ctx, o, effect.Ends, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (effect.Left, error) {
		account, err := a.ID(ctx, username)
		if err != nil {
			return effect.Left{}, err
		}
		position, err := a.RemoveMember(ctx, r, account, id.String())
		return effect.OfMember(account, id, "", position), err
	})
	if err != nil {
		return err
	}
	awaitNodes(ctx)
	err = console.Printf(o.Stdout, "%s is no member of %s any more\n", id, username)
	return err
}
