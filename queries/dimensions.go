package queries

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/queries/lookup"
)

// DimensionsOf selects the clicks that Dimensions counts.
type DimensionsOf struct {
	Account  uuid.UUID
	Hash     string    // of a live link
	From, To time.Time // days, both included; zero: no bound but the last reset
	Limit    int       // most values of a dimension
}

// DimensionValue counts the clicks with one value of a dimension.
type DimensionValue struct {
	Dimension string `bun:"dimension"` // such as readmodel.DimensionReferrer
	Value     string `bun:"value"`     // readmodel.OtherValues: all values without an entry
	Clicks    int64  `bun:"clicks"`
}

// Dimensions counts the clicks on a link by dimension, the most frequent values first and
// readmodel.OtherValues last. It returns ErrNotFound if no live link of the account has the hash.
//
// The query ranks the summed values within each dimension, replaces those beyond the limit by
// OtherValues, and sums again, because clicks may be stored under OtherValues already.
func (q *DB) Dimensions(ctx context.Context, of DimensionsOf) ([]DimensionValue, error) {
	if !lookup.Storable(of.Hash) {
		return nil, lookup.Failed("dimensions", ErrNotFound)
	}
	var id uuid.UUID
	if err := q.db.NewSelect().TableExpr("linkledger.links").Column("id").
		Where("hash = ? AND account_id = ?", of.Hash, of.Account).Where("deleted_at IS NULL").
		Limit(1).Scan(ctx, &id); err != nil {
		return nil, lookup.Failed("dimensions", err)
	}
	if of.To.IsZero() {
		of.To = lastDay
	}
	values := []DimensionValue{}
	err := q.db.NewRaw(`
		WITH summed AS (
			SELECT dimension, value, sum(clicks) AS clicks FROM linkledger.click_dimensions
			WHERE url_id = ?0 AND day BETWEEN ?1::date AND ?2::date GROUP BY dimension, value),
		ranked AS (
			SELECT dimension, value, clicks, row_number() OVER (
				PARTITION BY dimension ORDER BY value = ?4, clicks DESC, value) AS rank
			FROM summed),
		limited AS (
			SELECT dimension, clicks, CASE WHEN rank > ?3 THEN ?4 ELSE value END AS value
			FROM ranked)
		SELECT dimension, value, sum(clicks)::bigint AS clicks FROM limited
		GROUP BY dimension, value
		ORDER BY dimension, value = ?4, clicks DESC, value`,
		id, of.From.Format(time.DateOnly), of.To.Format(time.DateOnly), of.Limit,
		readmodel.OtherValues).Scan(ctx, &values)
	if err != nil {
		return nil, lookup.Failed("dimensions", err)
	}
	return values, nil
}

// lastDay is the last day that events can have.
var lastDay = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
