package linklist

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events"
	"linkledger/queries"
	"linkledger/queries/asof"
)

// boundTags is what Owner.Bound is evaluated with: the tags of an account, and what the read models
// show in an old state because events are set aside.
type boundTags struct {
	tags []queries.Tag
	// outdated means that the labels may be old, because changes of the tags are set aside.
	outdated bool
	// links are the numbers of the links whose last changes are set aside, such as a new tag.
	links []int
}

// boundTags returns what a bound is evaluated with as of a time. As long as no event is set aside,
// it takes one query.
func (r *Reader) boundTags(
	ctx context.Context, account uuid.UUID, at asof.Time,
) (found boundTags, err error) {
	stream := events.StreamTags + account.String()
	labels, projections := "SELECT id, label FROM linkledger.tags WHERE account_id = ?0",
		[]string{"tags", "links"}
	links := "linkledger.links"
	if at.Past() {
		labels, projections = queries.TagsThen, []string{"history"}
		links = "linkledger.link_versions"
	}
	var rows []struct {
		queries.Tag

		Aside string `bun:"aside"` // a stream that is set aside; empty: the row is a tag
	}
	// Both parts are read in one snapshot. So a change of the tags is either in the labels or set
	// aside.
	err = r.db.NewRaw(`
		SELECT id, label, '' AS aside FROM (`+labels+`) AS tag
		UNION ALL
		SELECT DISTINCT ?6::uuid, '', stream
		FROM linkledger.dead_letters JOIN linkledger.generations AS g USING (name, generation)
		WHERE g.serving AND name = ANY(?2)
			AND (stream = ?3 OR starts_with(stream, ?4) OR starts_with(stream, ?5))`,
		account, at.Nanoseconds(), pgdialect.Array(projections), stream,
		events.StreamURL, events.StreamHash, uuid.Nil,
	).Scan(ctx, &rows)
	if err != nil {
		return boundTags{}, fmt.Errorf("tags: %w", err)
	}
	var aside []uuid.UUID
	for _, row := range rows {
		id, isLink := events.LinkIn(row.Aside)
		switch parsed, err := uuid.Parse(id); {
		case row.Aside == "":
			found.tags = append(found.tags, row.Tag)
		case row.Aside == stream:
			found.outdated = true
		case isLink && err == nil:
			aside = append(aside, parsed)
		}
	}
	if len(aside) == 0 {
		return found, nil
	}
	err = r.db.NewSelect().TableExpr(links).Distinct().Column("number").
		Where("account_id = ?", account).Where("id = ANY(?::uuid[])", pgdialect.Array(aside)).
		Scan(ctx, &found.links)
	if err != nil {
		return boundTags{}, fmt.Errorf("links that are set aside: %w", err)
	}
	return found, nil
}
