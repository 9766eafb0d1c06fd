package accountadmin

import (
	"cmp"
	"context"
	"slices"
	"time"

	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// printedPerson is the printed form of a person.
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
	var people []accountlist.Person
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
	slices.SortFunc(people, func(a, b accountlist.Person) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	printed := make([]printedPerson, len(people))
	rows := make([]console.Row, len(people))
	for i, p := range people {
		printed[i] = printedPerson{
			ID: p.ID.String(), Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Mail: p.Mail,
			KnownAt: p.KnownAt.UTC(),
		}
		rows[i] = console.Row{
			p.ID, p.Name, p.Mail,
			p.Issuer, p.Subject,
			console.Time(p.KnownAt),
		}
	}
	return console.List(
		o.Stdout, o.JSON, printed,
		console.Row{"id", "name", "mail", "issuer", "subject", "known since"}, rows,
	)
}
