package queries

import (
	"context"

	"linkledger/queries/lookup"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// maxPerLongURL bounds the links returned for each long URL.
const maxPerLongURL = 5

// LinksByLongURL returns the ids of the account's live links to each of the long URLs. For each
// long URL it returns at most five, the oldest first. Long URLs are compared byte for byte.
func (q *DB) LinksByLongURL(
	ctx context.Context, account uuid.UUID, longURLs []string,
) (map[string][]uuid.UUID, error) {
	wanted := make([]string, 0, len(longURLs))
	for _, long := range longURLs {
		if lookup.Storable(long) {
			wanted = append(wanted, long)
		}
	}
	found := make(map[string][]uuid.UUID)
	if len(wanted) == 0 {
		return found, nil
	}
	var rows []struct {
		LongURL string    `bun:"long_url"`
		ID      uuid.UUID `bun:"id"`
	}
	err := q.db.NewRaw(`
		SELECT wanted.long_url, link.id
		FROM (SELECT DISTINCT unnest(?0::text[]) AS long_url) AS wanted CROSS JOIN LATERAL (
			SELECT id, position FROM linkledger.links
			WHERE account_id = ?1 AND deleted_at IS NULL
				AND hashtextextended(long_url, 0) = hashtextextended(wanted.long_url, 0)
				AND long_url = wanted.long_url
			ORDER BY position, id LIMIT ?2) AS link
		ORDER BY link.position, link.id`, pgdialect.Array(wanted), account,
		maxPerLongURL).Scan(ctx, &rows)
	if err != nil {
		return nil, lookup.Failed("links by long URL", err)
	}
	for _, row := range rows {
		found[row.LongURL] = append(found[row.LongURL], row.ID)
	}
	return found, nil
}
