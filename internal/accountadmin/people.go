package accountadmin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/queries"
)

// printedPerson is a person as it is printed.
type printedPerson struct {
	ID      string    `json:"id"`
	Issuer  string    `json:"issuer"`
	Subject string    `json:"subject"`
	Name    string    `json:"name"`
	Mail    string    `json:"mail"`
	KnownAt time.Time `json:"known_at"` // when name or mail was recorded
}

// ListPeople prints the persons who have signed in and are not erased.
func ListPeople(ctx context.Context, o installation.Operator) error {
	var people []queries.Person
	err := o.Query(ctx, func(ctx context.Context, q *queries.DB) error {
		all, err := q.AllPeople(ctx)
		for _, person := range all {
			people = append(people, person)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(people, func(a, b queries.Person) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	printed := make([]printedPerson, len(people))
	rows := make([]table.Row, len(people))
	for i, p := range people {
		printed[i] = printedPerson{
			ID: p.ID.String(), Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Mail: p.Mail,
			KnownAt: p.KnownAt.UTC(),
		}
		rows[i] = table.Row{
			p.ID, p.Name, p.Mail,
			p.Issuer, p.Subject,
			console.Time(p.KnownAt),
		}
	}
	return printList(
		o, printed, table.Row{"id", "name", "mail", "issuer", "subject", "known since"}, rows,
	)
}

// ErasePerson makes the details of a person unreadable for ever, and ends their memberships and
// sessions.
func ErasePerson(ctx context.Context, o installation.Operator, user string) error {
	if err := o.Locate(); err != nil {
		return err
	}
	err := runOn(ctx, o, func(
		ctx context.Context, store *eventstore.Store, r domain.Request,
	) (eventstore.Position, error) {
		return erasePerson(ctx, o, store, r, user)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "the person %s is erased\n", user)
	return err
}

// erasePerson erases a person, then ends their memberships and sessions. A repeat after an
// interruption does what is left. It returns the position of the last change.
func erasePerson(
	ctx context.Context, o installation.Operator, store *eventstore.Store, r domain.Request,
	user string,
) (last eventstore.Position, err error) {
	outcome, err := o.People(store).Erase(ctx, r, user)
	if err != nil {
		return last, err
	}
	last = outcome.Position
	id, err := uuid.Parse(user)
	if err != nil {
		return last, err
	}
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return last, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	memberships, err := queries.New(db).Memberships(ctx, id)
	if err != nil {
		return last, err
	}
	for _, m := range memberships {
		removed, err := o.Accounts(store).RemoveMember(ctx, r, m.Account.String(), user)
		if domain.KindOf(err) == domain.MemberNotFound {
			continue // the read model is late
		}
		if err != nil {
			return last, err
		}
		last = removed.Position
	}
	return last, db.Keys.EndSessionsOf(ctx, id)
}

// eraseMembers erases the persons who were members of an erased account and are members of no other
// one.
func eraseMembers(
	ctx context.Context, o installation.Operator, store *eventstore.Store, r domain.Request,
	of accounts.Account,
) error {
	for _, member := range of.Members {
		id, err := uuid.Parse(member.User)
		if err != nil {
			return err
		}
		var others []queries.Member
		err = o.Query(ctx, func(ctx context.Context, q *queries.DB) error {
			others, err = q.Memberships(ctx, id)
			return err
		})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(
			others, func(m queries.Member) bool { return m.Account.String() != of.ID },
		) {
			continue
		}
		if _, err := erasePerson(ctx, o, store, r, member.User); err != nil {
			return fmt.Errorf("erase the member %s: %w", member.User, err)
		}
	}
	return nil
}
