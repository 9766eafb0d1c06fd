package projections

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// tagsName is the name of the projection.
const tagsName = "tags"

// tagProjection returns the projection of the tags.
func tagProjection() projection {
	return projection{name: tagsName, filter: streams(events.StreamTags), folds: foldsOf(newTagFold)}
}

// tagFold brings tags up to date. It holds those that a batch touches, as they are after the facts so far; nil stands for
// a deleted one.
type tagFold struct {
	rows map[uuid.UUID]*readmodel.Tag
}

func newTagFold() fold { return &tagFold{rows: make(map[uuid.UUID]*readmodel.Tag)} }

func (t *tagFold) read(s *statements, facts []fact) {
	var ids uuidColumn
	for _, f := range facts {
		var text string
		switch e := f.body.(type) {
		case events.TagCreated:
			text = e.TagID
		case events.TagRenamed:
			text = e.TagID
		case events.TagDeleted:
			text = e.TagID
		}
		if id, err := parseID(text); err == nil { // or else step names the fact
			ids = append(ids, toUUID(id))
		}
	}
	if len(ids) == 0 {
		return
	}
	s.queue("SELECT id, account_id, label, created_at, position FROM ?schema.tags WHERE id = ANY($1::uuid[])", ids).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var row readmodel.Tag
				if err := rows.Scan(&row.ID, &row.AccountID, &row.Label, &row.CreatedAt, &row.Position); err != nil {
					return err
				}
				t.rows[row.ID] = &row
			}
			return rows.Err()
		})
}

func (t *tagFold) step(f fact) error {
	switch e := f.body.(type) {
	case events.TagCreated:
		return t.create(f, e)
	case events.TagRenamed:
		row, err := t.row(e.TagID)
		if err != nil {
			return err
		}
		row.Label = e.Label
		return nil
	case events.TagDeleted:
		row, err := t.row(e.TagID)
		if err != nil {
			return err
		}
		t.rows[row.ID] = nil
		return nil
	}
	return errUnexpected(f)
}

func (t *tagFold) create(f fact, e events.TagCreated) error {
	id, err := parseID(e.TagID)
	if err != nil {
		return err
	}
	account, err := f.subject(events.StreamTags)
	if err != nil {
		return err
	}
	if t.rows[id] != nil {
		return fmt.Errorf("%w: the tag exists", ErrContradiction)
	}
	t.rows[id] = &readmodel.Tag{ID: id, AccountID: account, Label: e.Label, CreatedAt: e.At, Position: f.commit()}
	return checkTime(e.At)
}

// row returns the tag of that id as far as it lives.
func (t *tagFold) row(text string) (*readmodel.Tag, error) {
	id, err := parseID(text)
	if err != nil {
		return nil, err
	}
	row := t.rows[id]
	if row == nil {
		return nil, fmt.Errorf("%w: there is no tag %s", ErrContradiction, id)
	}
	return row, nil
}

func (t *tagFold) size() int { return len(t.rows) }

func (t *tagFold) write(s *statements) []string {
	var (
		id, account, deleted uuidColumn
		label                []string
		created              timeColumn
		position             []int64
	)
	for key, row := range t.rows {
		if row == nil {
			deleted = append(deleted, toUUID(key))
			continue
		}
		id, account, label = append(id, toUUID(row.ID)), append(account, toUUID(row.AccountID)), append(label, row.Label)
		created, position = append(created, toTime(row.CreatedAt)), append(position, row.Position)
	}
	if len(deleted) > 0 {
		s.queue("DELETE FROM ?schema.tags WHERE id = ANY($1::uuid[])", deleted)
	}
	if len(id) > 0 {
		s.queue(`INSERT INTO ?schema.tags (id, account_id, label, created_at, position)
			SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::bigint[])
			ON CONFLICT (id) DO UPDATE SET label = EXCLUDED.label`, id, account, label, created, position)
	}
	return []string{readmodel.Unkept}
}
