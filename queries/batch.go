package queries

import (
	"context"

	"github.com/google/uuid"
)

// BatchLinks returns the ids of the links that a call of the API changed, including links deleted
// since: at most limit ids that follow after, in the order of the ids. With the nil account it
// returns those of all accounts.
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
		return nil, failed("links of a batch", err)
	}
	return ids, nil
}
