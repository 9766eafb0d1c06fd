package queries

import (
	"context"
	"time"

	"github.com/google/uuid"
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
		return nil, failed("tags", err)
	}
	return tags, nil
}
