package queries

import (
	"context"
	"time"

	"linkledger/events"
	"linkledger/queries/asof"
	"linkledger/queries/lookup"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Link is a live link with its counters.
type Link struct {
	ID      uuid.UUID `bun:"id"`
	Account uuid.UUID `bun:"account_id"`
	Hash    string    `bun:"hash"`
	LongURL string    `bun:"long_url"`
	Note    string    `bun:"note"`
	events.Settings
	Tags         []string   `bun:"tags,array"` // labels, in the order they were attached
	TotalClicks  int64      `bun:"total_clicks"`
	UniqueClicks int64      `bun:"unique_clicks"`
	LastVisit    *time.Time `bun:"last_visit"` // UTC; nil: never visited
	Visited      bool       `bun:"visited"`    // ever, also before a reset of the stats
	CreatedAt    time.Time  `bun:"created_at"` // UTC
	ModifiedAt   time.Time  `bun:"modified_at"`
	// Revision is the revision of the last event of the link's stream that this row contains.
	Revision int64 `bun:"revision"`
}

// linkColumns and linkTables select links as Link. A deleted tag stays in tag_ids; the join leaves
// it out. The labels come from a subquery, because a join with tags in the outer query would
// multiply the rows of links.
const (
	settingColumns = `
		link.email_stats, link.ping, link.protected, link.archived,
		coalesce(to_char(link.expiration_date, 'YYYY-MM-DD'), '') AS expiration_date,
		link.max_clicks`
	linkColumns = `
		link.id, link.account_id, link.hash, link.long_url, link.note,` + settingColumns + `,
		ARRAY(
			SELECT tag.label FROM unnest(link.tag_ids) WITH ORDINALITY AS attached (id, ordinal)
			JOIN linkledger.tags AS tag
				ON tag.id = attached.id AND tag.account_id = link.account_id
			ORDER BY attached.ordinal) AS tags,
		coalesce(stats.total_clicks, 0) AS total_clicks,
		coalesce(stats.unique_clicks, 0) AS unique_clicks,
		stats.last_visit, coalesce(stats.visited, false) AS visited,
		link.created_at, link.modified_at, link.revision`
	linkTables = `linkledger.links AS link
		LEFT JOIN linkledger.link_stats AS stats ON stats.url_id = link.id`
)

// LinkByHash returns the live link of the account that has the hash now, or ErrNotFound.
func (q *DB) LinkByHash(ctx context.Context, account uuid.UUID, hash string) (Link, error) {
	if !lookup.Storable(hash) {
		return Link{}, lookup.Failed("link by hash", ErrNotFound)
	}
	var link Link
	err := q.db.NewSelect().ColumnExpr(linkColumns).TableExpr(linkTables).
		Where("link.hash = ? AND link.account_id = ?", hash, account).
		Where("link.deleted_at IS NULL").Limit(1).Scan(ctx, &link)
	if err != nil {
		return Link{}, lookup.Failed("link by hash", err)
	}
	return link, nil
}

// LinksByID returns the live links that have one of the ids, of any account.
func (q *DB) LinksByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Link, error) {
	found := make(map[uuid.UUID]Link, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	links, err := q.links(ctx, q.db.NewSelect().ColumnExpr(linkColumns).TableExpr(linkTables).
		Where("link.deleted_at IS NULL").Where("link.id = ANY(?::uuid[])", pgdialect.Array(ids)))
	if err != nil {
		return nil, lookup.Failed("links by id", err)
	}
	for _, link := range links {
		found[link.ID] = link
	}
	return found, nil
}

// LinkNumbers returns the numbers of the links of an account that had one of the hashes at a time.
func (q *DB) LinkNumbers(
	ctx context.Context, account uuid.UUID, hashes []string, at asof.Time,
) (numbers []int, err error) {
	err = at.ByHash(q.db).ColumnExpr("link.number").Where("account_id = ?", account).
		Where("hash = ANY(?::text[])", pgdialect.Array(hashes)).Scan(ctx, &numbers)
	return numbers, err
}

// LinksByNumber returns links of an account by number, as they were at a time. It leaves out those
// that were not live then. The links have the order of the numbers.
func (q *DB) LinksByNumber(
	ctx context.Context, account uuid.UUID, numbers []int, at asof.Time,
) ([]Link, error) {
	if len(numbers) == 0 {
		return []Link{}, nil
	}
	if at.Past() {
		return q.pastLinksByNumber(ctx, account, numbers, at)
	}
	links := []Link{}
	err := q.db.NewSelect().ColumnExpr(linkColumns).TableExpr(linkTables).
		Join(`JOIN unnest(?::integer[]) WITH ORDINALITY AS page (number, ordinal)
			ON page.number = link.number`, pgdialect.Array(numbers)).
		Where("link.account_id = ?", account).Where("link.deleted_at IS NULL").
		OrderExpr("page.ordinal").Scan(ctx, &links)
	return links, err
}

func (q *DB) links(ctx context.Context, query *bun.SelectQuery) ([]Link, error) {
	var links []Link
	if err := query.Scan(ctx, &links); err != nil {
		return nil, err
	}
	return links, nil
}
