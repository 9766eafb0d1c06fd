package accounts

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/keystore"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// people are the persons that a batch touches. Their details stay encrypted, so that the projection
// needs no keys.
type people map[uuid.UUID]*person

func (p people) read(s *sqlbatch.Batch, users sqlbatch.UUIDs) {
	if len(users) == 0 {
		return
	}
	s.Queue(`SELECT `+personColumns.List("")+` FROM ?schema.people
		WHERE id = ANY($1::uuid[])`, users).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row person
			if err := rows.Scan(personColumns.Scan(&row)...); err != nil {
				return err
			}
			p[row.ID] = &row
		}
		return rows.Err()
	})
}

func (p people) apply(id uuid.UUID, event projection.Event) error {
	row := p[id]
	erased := row != nil && row.Erased
	if events.EndsRights(event.Body) || erased && event.Detached {
		return p.applyErased(id, event)
	}
	if erased {
		return fmt.Errorf("%w: the person was erased", projection.ErrContradiction)
	}
	e, ok := event.Body.(events.UserKnown)
	if !ok {
		return projection.Unexpected(event)
	}
	if e.User != id.String() || e.Sealed == nil || e.Sealed.Account != e.User {
		return fmt.Errorf("%w: it is about another user", projection.ErrContradiction)
	}
	box := base64.StdEncoding.EncodeToString(e.Sealed.Box)
	p[id] = &person{ID: id, KnownAt: e.At, Box: box}
	return projection.CheckTime(e.At)
}

// applyErased applies an event of a person who is erased, by this event or, if it is detached, by a
// later one. Of events before the erasure only the time stays.
func (p people) applyErased(id uuid.UUID, event projection.Event) error {
	row := p[id]
	if row == nil {
		row = &person{ID: id}
		p[id] = row
	}
	row.Box, row.Erased = "", true
	switch e := event.Body.(type) {
	case events.UserKnown:
		row.KnownAt = e.At
	case events.UserErased:
		if row.KnownAt.IsZero() {
			row.KnownAt = event.Or(e.At)
		}
	default:
		return projection.Unexpected(event)
	}
	return projection.CheckTime(row.KnownAt)
}

// write also deletes the keys of erased persons. So a key that a restored backup brought back does
// not stay.
func (p people) write(s *sqlbatch.Batch) {
	if len(p) == 0 {
		return
	}
	for id, row := range p {
		if row.Erased {
			s.Queue(keystore.EraseAccountKeyStatement, sqlbatch.UUID(id))
		}
	}
	s.Queue(personColumns.Insert("?schema.people")+`
		ON CONFLICT (id) DO UPDATE SET `+personColumns.Assign("EXCLUDED"),
		personColumns.Arrays(slices.Collect(maps.Values(p)))...)
}
