package accountlist

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events"
	"linkledger/events/sealing"
	"linkledger/projections/keystore/keyfile"
	"linkledger/queries/lookup"
)

// Person is a person who has signed in.
type Person struct {
	events.Details

	ID      uuid.UUID
	KnownAt time.Time // when the details were recorded
	Erased  bool
}

// Label returns the name of a person, or their mail address if they have no name.
func (p Person) Label() string { return cmp.Or(p.Name, p.Mail) }

// People returns persons by id, and leaves out unknown ids. Details that cannot be read are empty:
// their key is lost, the master key is missing or not the one that encrypted their key, or this
// program did not seal them.
func (q *Reader) People(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Person, error) {
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // reads of the map find nothing
	}
	return q.people(ctx, q.db.NewSelect().Where("person.id IN (?)", bun.List(ids)))
}

// AllPeople returns all persons who are not erased, by id.
func (q *Reader) AllPeople(ctx context.Context) (map[uuid.UUID]Person, error) {
	return q.people(ctx, q.db.NewSelect().Where("NOT person.erased"))
}

// people reads persons with their keys. The details are decrypted here and nowhere stored, so that
// the deletion of a key takes effect at once.
func (q *Reader) people(
	ctx context.Context, query *bun.SelectQuery,
) (map[uuid.UUID]Person, error) {
	var rows []struct {
		ID      uuid.UUID `bun:"id"`
		KnownAt time.Time `bun:"known_at"`
		Box     string    `bun:"box"` // in base64
		Erased  bool      `bun:"erased"`
		Wrapped []byte    `bun:"wrapped"`
		Master  string    `bun:"master"`
		Lost    bool      `bun:"lost"` // the key is missing, although it was not deleted
	}
	err := query.TableExpr("linkledger.people AS person").
		ColumnExpr("person.id, person.known_at, person.box, person.erased").
		ColumnExpr("key.wrapped, coalesce(key.master, '') AS master").
		ColumnExpr("key.account_id IS NULL AS lost").
		Join("LEFT JOIN linkledger_durable.account_keys AS key ON key.account_id = person.id").
		Scan(ctx, &rows)
	if err != nil {
		return nil, lookup.Failed("people", err)
	}
	found := make(map[uuid.UUID]Person, len(rows))
	for _, row := range rows {
		person := Person{ID: row.ID, KnownAt: row.KnownAt, Erased: row.Erased}
		if row.Erased || row.Wrapped == nil && !row.Lost {
			person.Details = events.Details{Name: events.Erased}
		} else if row.Lost {
			// The details stay empty.
		} else if person.Details, err = q.openDetails(
			row.ID.String(), row.Box, row.Master, row.Wrapped,
		); err != nil {
			return nil, lookup.Failed("people", err)
		}
		found[row.ID] = person
	}
	return found, nil
}

func (q *Reader) openDetails(
	user, box, master string, wrapped []byte,
) (events.Details, error) {
	secret, err := q.db.Keys.Master.Unwrap(user, master, wrapped)
	if errors.Is(err, keyfile.ErrNoMasterKey) || errors.Is(err, keyfile.ErrOtherMasterKey) {
		return events.Details{}, nil
	}
	if err != nil {
		return events.Details{}, err
	}
	key, err := sealing.NewKey(secret)
	if err != nil {
		return events.Details{}, err
	}
	sealed := events.Sealed{Account: user}
	if sealed.Box, err = base64.StdEncoding.DecodeString(box); err != nil {
		return events.Details{}, fmt.Errorf("details of a person: %w", err)
	}
	details, err := sealing.OpenDetails(&sealed, key, user)
	if errors.Is(err, sealing.ErrUnreadable) {
		return events.Details{}, nil
	}
	return details, err
}
