package queries

import (
	"context"

	"linkledger/queries/lookup"

	"github.com/google/uuid"
)

// BatchLinks returns ids of the links that a call of the API changed, including links deleted
// since. It returns the lowest ids that are greater than after, at most limit, in ascending order.
// If account is the nil UUID, it returns links of all accounts.
func (q *DB) BatchLinks(
	ctx context.Context, account, batch, after uuid.UUID, limit int,
) ([]uuid.UUID, error) {
	query := q.db.NewSelect().TableExpr("linkledger.link_batches AS changed").
		ColumnExpr("changed.url_id").
		Join("JOIN linkledger.links AS link ON link.id = changed.url_id").
		Where("changed.batch = ?", batch).Where("changed.url_id > ?", after).
		OrderExpr("changed.url_id").Limit(int64(limit))
	if account != uuid.Nil {
		query = query.Where("link.account_id = ?", account)
	}
	var ids []uuid.UUID
	if err := query.Scan(ctx, &ids); err != nil {
		return nil, lookup.Failed("links of a batch", err)
	}
	return ids, nil
}

// BatchLink is the current state of a link that a call of the API changed, or the last state of a
// deleted one.
type BatchLink struct {
	Hash    string `bun:"hash"`
	LongURL string `bun:"long_url"`
	Deleted bool   `bun:"deleted"`
}

// BatchPage returns a page of the links of an account that a call changed, and the number of links
// on all pages.
func (q *DB) BatchPage(
	ctx context.Context, account, batch uuid.UUID, offset, limit int,
) (links []BatchLink, total int64, err error) {
	changed := q.db.NewSelect().TableExpr("linkledger.link_batches AS changed").
		Join("JOIN linkledger.links AS link ON link.id = changed.url_id").
		Where("changed.batch = ?", batch).Where("link.account_id = ?", account)
	if total, err = changed.Count(ctx); err != nil {
		return nil, 0, lookup.Failed("links of a batch", err)
	}
	if err := changed.ColumnExpr("link.hash, link.long_url").
		ColumnExpr("link.deleted_at IS NOT NULL AS deleted").OrderExpr("link.hash, link.id").
		Offset(int64(offset)).Limit(int64(limit)).Scan(ctx, &links); err != nil {
		return nil, 0, lookup.Failed("links of a batch", err)
	}
	return links, total, nil
}
