package tags

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "tags"

// Projection returns the projection of the tags.
func Projection() projection.Definition {
	return projection.Definition{
		Name: Name, Filter: projection.Streams(events.StreamTags),
		Folds: projection.FoldsOf(newTagFold),
	}
}

// tagFold updates the table of tags. It holds the state of the tags that a batch touches, after the
// events applied so far. A deleted tag is nil.
type tagFold struct {
	rows map[uuid.UUID]*readmodel.Tag
}

func newTagFold() projection.Fold { return &tagFold{rows: make(map[uuid.UUID]*readmodel.Tag)} }

func (t *tagFold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	var ids sqlbatch.UUIDs
	for _, event := range batch {
		var text string
		switch e := event.Body.(type) {
		case events.TagCreated:
			text = e.TagID
		case events.TagRenamed:
			text = e.TagID
		case events.TagDeleted:
			text = e.TagID
		}
		if id, err := projection.ParseID(text); err == nil { // else Apply returns the error
			ids = append(ids, sqlbatch.UUID(id))
		}
	}
	if len(ids) == 0 {
		return
	}
	s.Queue(`SELECT id, account_id, label, created_at, position FROM ?schema.tags
		WHERE id = ANY($1::uuid[])`, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row readmodel.Tag
			if err := rows.Scan(
				&row.ID, &row.AccountID, &row.Label, &row.CreatedAt, &row.Position,
			); err != nil {
				return err
			}
			t.rows[row.ID] = &row
		}
		return rows.Err()
	})
}

func (t *tagFold) Apply(event projection.Event) error {
	switch e := event.Body.(type) {
	case events.TagCreated:
		return t.create(event, e)
	case events.TagRenamed:
		row, err := t.row(event, e.TagID)
		if err != nil {
			return err
		}
		row.Label = e.Label
		return nil
	case events.TagDeleted:
		row, err := t.row(event, e.TagID)
		if err != nil {
			return err
		}
		t.rows[row.ID] = nil
		return nil
	}
	return projection.Unexpected(event)
}

func (t *tagFold) create(event projection.Event, e events.TagCreated) error {
	id, err := projection.ParseID(e.TagID)
	if err != nil {
		return err
	}
	account, err := event.Subject(events.StreamTags)
	if err != nil {
		return err
	}
	if t.rows[id] != nil {
		return fmt.Errorf("%w: the tag exists", projection.ErrContradiction)
	}
	t.rows[id] = &readmodel.Tag{
		ID: id, AccountID: account, Label: e.Label, CreatedAt: e.At,
		Position: event.CommitPosition(),
	}
	return projection.CheckTime(e.At)
}

// row returns the tag that an event changes. It fails if the account in whose stream the event lies
// has no such tag.
func (t *tagFold) row(event projection.Event, text string) (*readmodel.Tag, error) {
	id, err := projection.ParseID(text)
	if err != nil {
		return nil, err
	}
	account, err := event.Subject(events.StreamTags)
	if err != nil {
		return nil, err
	}
	row := t.rows[id]
	if row == nil || row.AccountID != account {
		return nil, fmt.Errorf(
			"%w: account %s has no tag %s", projection.ErrContradiction, account, id,
		)
	}
	return row, nil
}

func (t *tagFold) Size() int { return len(t.rows) }

func (t *tagFold) Write(s *sqlbatch.Batch) []string {
	var (
		id, account, deleted sqlbatch.UUIDs
		label                []string
		created              sqlbatch.Times
		position             []int64
	)
	for key, row := range t.rows {
		if row == nil {
			deleted = append(deleted, sqlbatch.UUID(key))
			continue
		}
		id, account = append(
			id, sqlbatch.UUID(row.ID),
		), append(account, sqlbatch.UUID(row.AccountID))
		label, position = append(label, row.Label), append(position, row.Position)
		created = append(created, sqlbatch.Time(row.CreatedAt))
	}
	if len(deleted) > 0 {
		s.Queue("DELETE FROM ?schema.tags WHERE id = ANY($1::uuid[])", deleted)
	}
	if len(id) > 0 {
		s.Queue(`INSERT INTO ?schema.tags (id, account_id, label, created_at, position)
			SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[],
				$5::bigint[])
			ON CONFLICT (id) DO UPDATE SET label = EXCLUDED.label`,
			id, account, label, created, position)
	}
	return []string{readmodel.Uncached}
}
