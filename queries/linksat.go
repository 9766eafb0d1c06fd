package queries

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/queries/asof"
	"linkledger/queries/lookup"
)

// LinkAt returns the link of the account that had the hash at a past moment, as it was then, or
// ErrNotFound.
func (q *DB) LinkAt(
	ctx context.Context, account uuid.UUID, hash string, at time.Time,
) (Link, error) {
	if !lookup.Storable(hash) {
		return Link{}, lookup.Failed("link at", ErrNotFound)
	}
	then := asof.At(at)
	numbers, err := q.LinkNumbers(ctx, account, []string{hash}, then)
	if err != nil {
		return Link{}, lookup.Failed("link at", err)
	}
	links, err := q.pastLinksByNumber(ctx, account, numbers, then)
	if err == nil && len(links) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Link{}, lookup.Failed("link at", err)
	}
	return links[0], nil
}

// pastLinksByNumber returns links by number, as they were at a past moment. It leaves out those
// that were not live then. The links have the order of the numbers. Clicks count by whole days, up
// to the end of the moment's day. A reset takes effect at its moment. A reset that was undone since
// has no effect at all.
//
// The query has two LATERAL subqueries for each link. The first probes the primary key for the
// version at the moment, and the second sums up the days. reset_days has the days that resets took
// away. Such a day counts if its reset is later than the version. These days have no unique clicks.
// So if one of them counts, a further subquery counts the visitors themselves, which takes longer.
func (q *DB) pastLinksByNumber(
	ctx context.Context, account uuid.UUID, numbers []int, at asof.Time,
) ([]Link, error) {
	links := []Link{}
	args := struct {
		Account uuid.UUID
		Numbers *pgdialect.ArrayValue
		At      int64
		Day     string
	}{account, pgdialect.Array(numbers), at.Nanoseconds(), at.Day().Format(time.DateOnly)}
	err := q.db.NewRaw(`
		SELECT link.id, link.account_id, link.hash, link.long_url, link.note,`+settingColumns+`,
			ARRAY(
				SELECT tag.label
				FROM unnest(link.tag_ids) WITH ORDINALITY AS attached (id, ordinal), LATERAL (
					SELECT label FROM linkledger.tag_versions
					WHERE tag_id = attached.id AND since <= ?at AND account_id = link.account_id
					ORDER BY since DESC LIMIT 1) AS tag
				WHERE tag.label IS NOT NULL ORDER BY attached.ordinal) AS tags,
			clicks.total AS total_clicks,
			CASE WHEN clicks.reset THEN (
				SELECT count(DISTINCT visitor) FROM (
					SELECT visitor FROM linkledger.visitors
					WHERE url_id = link.id AND day <= ?day UNION ALL
					SELECT visitor FROM linkledger.reset_visitors
					WHERE url_id = link.id AND reset > link.revision AND day <= ?day) AS seen)
				ELSE clicks.uniques END AS unique_clicks,
			CASE WHEN stats.last_visit < ?day::timestamptz + interval '1 day' THEN stats.last_visit
				ELSE clicks.last_day AT TIME ZONE 'UTC' END AS last_visit,
			clicks.last_day IS NOT NULL AS visited, link.created_at, link.modified_at, link.revision
		FROM unnest(?numbers::integer[]) WITH ORDINALITY AS page (number, ordinal)
		CROSS JOIN LATERAL (
			SELECT * FROM linkledger.link_versions
			WHERE account_id = ?account AND number = page.number AND since <= ?at
			ORDER BY since DESC LIMIT 1) AS link
		CROSS JOIN LATERAL (
			SELECT coalesce(sum(total) FILTER (WHERE counts), 0) AS total,
				coalesce(sum(uniques), 0) AS uniques,
				coalesce(bool_or(reset AND counts), false) AS reset,
				max(day)::timestamp AS last_day
			FROM (
				SELECT day, total_clicks AS total, unique_clicks AS uniques, false AS reset,
					true AS counts
				FROM linkledger.link_days WHERE url_id = link.id AND day <= ?day UNION ALL
				SELECT day, total_clicks, 0, true, reset > link.revision
				FROM linkledger.reset_days WHERE url_id = link.id AND day <= ?day
			) AS days) AS clicks
		LEFT JOIN linkledger.link_stats AS stats ON stats.url_id = link.id
		WHERE link.deleted_at IS NULL ORDER BY page.ordinal`, args).Scan(ctx, &links)
	return links, err
}
