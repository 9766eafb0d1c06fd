package projections

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events"
	"linkledger/projections/readmodel"
)

// applyTags brings tags up to date.
func applyTags(ctx context.Context, tx bun.Tx, facts []fact) ([]string, error) {
	fold := tagFold{rows: make(map[uuid.UUID]*readmodel.Tag)}
	if err := fold.load(ctx, tx, facts); err != nil {
		return nil, err
	}
	if err := foldEach(facts, fold.step); err != nil {
		return nil, err
	}
	return nil, fold.save(ctx, tx)
}

// tagFold holds the tags that a batch touches, as they are after the facts so far; nil stands for a deleted one.
type tagFold struct {
	rows map[uuid.UUID]*readmodel.Tag
}

// load reads the tags that the facts are about, as far as they exist.
func (t *tagFold) load(ctx context.Context, tx bun.Tx, facts []fact) error {
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
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []*readmodel.Tag
	if err := tx.NewSelect().Model(&rows).ModelTableExpr("?schema.tags AS tag").
		Where("tag.id = ANY(?::uuid[])", ids).Scan(ctx); err != nil {
		return fmt.Errorf("read the tags: %w", err)
	}
	for _, row := range rows {
		t.rows[row.ID] = row
	}
	return nil
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

func (t *tagFold) save(ctx context.Context, tx bun.Tx) error {
	var (
		id, account, deleted uuidColumn
		label                []string
		created              timeColumn
		position             []int64
	)
	for key, row := range t.rows {
		if row == nil {
			deleted = append(deleted, key)
			continue
		}
		id, account, label = append(id, row.ID), append(account, row.AccountID), append(label, row.Label)
		created, position = append(created, row.CreatedAt), append(position, row.Position)
	}
	if len(deleted) > 0 {
		if _, err := tx.NewRaw("DELETE FROM ?schema.tags WHERE id = ANY(?::uuid[])", deleted).Exec(ctx); err != nil {
			return fmt.Errorf("delete tags: %w", err)
		}
	}
	if len(id) == 0 {
		return nil
	}
	_, err := tx.NewRaw(`
		INSERT INTO ?schema.tags (id, account_id, label, created_at, position)
		SELECT * FROM unnest(?::uuid[], ?::uuid[], ?::text[], ?::timestamptz[], ?::bigint[])
		ON CONFLICT (id) DO UPDATE SET label = EXCLUDED.label`,
		id, account, pgdialect.Array(label), created, pgdialect.Array(position)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("write the tags: %w", err)
	}
	return nil
}
