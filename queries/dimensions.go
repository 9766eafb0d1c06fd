package queries

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
)

// DimensionsOf are the clicks that Dimensions counts.
type DimensionsOf struct {
	Account  uuid.UUID
	Hash     string    // of a live link
	From, To time.Time // days, both included; zero: since the last reset, until now
	Limit    int       // values of a dimension
}

// DimensionValue counts the clicks with one value of a dimension.
type DimensionValue struct {
	Dimension string `bun:"dimension"` // such as readmodel.DimensionReferrer
	Value     string `bun:"value"`     // readmodel.OtherValues: all that are not told one by one
	Clicks    int64  `bun:"clicks"`
}

// Dimensions counts the clicks on a link by what they tell of their visitors, the most frequent
// values first and the other ones last. The hash has to be that of a live link of the account, or
// else it is ErrNotFound.
func (q *DB) Dimensions(ctx context.Context, of DimensionsOf) ([]DimensionValue, error) {
	if !Storable(of.Hash) {
		return nil, failed("dimensions", ErrNotFound)
	}
	var id uuid.UUID
	if err := q.db.NewSelect().TableExpr("linkledger.links").Column("id").
		Where("hash = ? AND account_id = ?", of.Hash, of.Account).Where("deleted_at IS NULL").Limit(
		1,
	).Scan(ctx, &id); err != nil {
		return nil, failed("dimensions", err)
	}
	if of.To.IsZero() {
		of.To = lastDay
	}
	values := []DimensionValue{}
	err := q.db.NewRaw(`
		WITH summed AS (
			SELECT dimension, value, sum(clicks) AS clicks FROM linkledger.click_dimensions
			WHERE url_id = ?0 AND day BETWEEN ?1::date AND ?2::date GROUP BY dimension, value),
		placed AS (
			SELECT dimension, clicks, CASE
				WHEN row_number() OVER (PARTITION BY dimension ORDER BY value = ?4, clicks DESC, value) > ?3 THEN ?4 ELSE value END AS value
			FROM summed)
		SELECT dimension, value, sum(clicks)::bigint AS clicks FROM placed GROUP BY dimension, value
		ORDER BY dimension, value = ?4, clicks DESC, value`,
		id, of.From.Format(time.DateOnly), of.To.Format(time.DateOnly), of.Limit,
		readmodel.OtherValues).Scan(ctx, &values)
	if err != nil {
		return nil, failed("dimensions", err)
	}
	return values, nil
}

// lastDay is the last one that events can tell of.
var lastDay = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
