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

// people holds the persons that a batch of events changes. Their details stay encrypted, so that
// the projection needs no keys.
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
	switch e := event.Body.(type) {
	case events.UserKnown:
		return p.know(id, event, e)
	case events.UserErased:
		return p.erase(id, event, e)
	}
	return projection.Unexpected(event)
}

// know records the details of a person. If the person was erased after the event, and the erasure
// was applied first, it records only the time. It fails if the person was erased before the event.
func (p people) know(id uuid.UUID, event projection.Event, e events.UserKnown) error {
	if e.User != id.String() || e.Sealed == nil || e.Sealed.Account != e.User {
		return fmt.Errorf("%w: it is about another user", projection.ErrContradiction)
	}
	row := p[id]
	switch {
	case row == nil || !row.Erased:
		box := base64.StdEncoding.EncodeToString(e.Sealed.Box)
		p[id] = &person{ID: id, KnownAt: e.At, Box: box}
	case row.Ended < event.CommitPosition():
		return fmt.Errorf("%w: the person was erased", projection.ErrContradiction)
	default:
		row.KnownAt = e.At
	}
	return projection.CheckTime(e.At)
}

func (p people) erase(id uuid.UUID, event projection.Event, e events.UserErased) error {
	row := p[id]
	if row == nil {
		row = &person{ID: id, KnownAt: event.Or(e.At)}
		p[id] = row
	}
	if position := event.CommitPosition(); !row.Erased || position < row.Ended {
		row.Box, row.Erased, row.Ended = "", true, position
	}
	return projection.CheckTime(row.KnownAt)
}

// write stores the persons. It also deletes the encryption keys of erased persons, because a
// restored backup may have brought such keys back.
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
