package queries

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/queries/asof"
	"linkledger/queries/lookup"
)

// Tag is a label that an account gives to its links.
type Tag struct {
	ID        uuid.UUID `bun:"id"`
	Label     string    `bun:"label"` // as written at its creation or last renaming
	CreatedAt time.Time `bun:"created_at"`
}

// Tags returns the tags of an account in the order of their creation.
func (q *DB) Tags(ctx context.Context, account uuid.UUID) ([]Tag, error) {
	tags := []Tag{}
	err := q.db.NewSelect().ColumnExpr("id, label, created_at").TableExpr("linkledger.tags").
		Where("account_id = ?", account).OrderExpr("position, id").Scan(ctx, &tags)
	if err != nil {
		return nil, lookup.Failed("tags", err)
	}
	return tags, nil
}

// TagsThen is the query for the tags of an account, ?0, at a past moment, ?1.
const TagsThen = `SELECT id, label FROM (
		SELECT DISTINCT ON (tag_id) tag_id AS id, label FROM linkledger.tag_versions
		WHERE account_id = ?0 AND since <= ?1 ORDER BY tag_id, since DESC) AS tag
	WHERE label IS NOT NULL`

// TagsAt returns the tags of an account at a time. Tags at a past moment have no order.
func (q *DB) TagsAt(ctx context.Context, account uuid.UUID, at asof.Time) ([]Tag, error) {
	if !at.Past() {
		return q.Tags(ctx, account)
	}
	var tags []Tag
	err := q.db.NewRaw(TagsThen, account, at.Nanoseconds()).Scan(ctx, &tags)
	if err != nil {
		return nil, lookup.Failed("tags", err)
	}
	return tags, nil
}
