package linklist

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/queries/asof"
	"linkledger/queries/linkset"
)

// pageQuery selects a page of a list: a part of the links that the list selects, in its order.
type pageQuery struct {
	Query
	selected linkset.Set
	total    int // links in selected
}

// pageNumbers returns the numbers of the links of a page. The offset MUST be below the total.
func (r *Reader) pageNumbers(ctx context.Context, c pageQuery) ([]int, error) {
	switch c.Order {
	case ModifiedFirst:
		c.Reverse = !c.Reverse
		links, err := asof.At(c.At).ByModified(ctx, r.db, c.Account)
		if err != nil {
			return nil, err
		}
		return r.walk(ctx, c, "link.modified_at", c.restrict(links))
	case ByHash:
		return r.walk(ctx, c, "link.hash", c.restrict(asof.At(c.At).ByHash(r.db)))
	case ClicksFirst:
		return r.pageByClicks(ctx, c)
	case NewestFirst:
	}
	return c.selected.Numbers(c.Offset, c.Limit, c.Reverse), nil
}

// pageByClicks takes the page from two lists: the links with clicks, which an index sorts, and the
// links without clicks, which are sorted by creation.
func (r *Reader) pageByClicks(ctx context.Context, c pageQuery) ([]int, error) {
	with, err := r.clicked(c.Account).All(ctx)
	if err != nil {
		return nil, err
	}
	rest := c
	rest.selected = c.selected.Minus(with)
	rest.total = rest.selected.Count()
	clicked := c
	clicked.selected, clicked.total = c.selected.Minus(rest.selected), c.total-rest.total
	if c.Reverse {
		rest.Limit = min(c.Limit, max(0, rest.total-c.Offset))
		clicked.Offset, clicked.Limit = max(0, c.Offset-rest.total), c.Limit-rest.Limit
	} else {
		clicked.Limit = min(c.Limit, max(0, clicked.total-c.Offset))
		rest.Offset, rest.Limit = max(0, c.Offset-clicked.total), c.Limit-clicked.Limit
	}
	others := rest.selected.Numbers(rest.Offset, rest.Limit, c.Reverse)
	clicked.Reverse = !c.Reverse
	links, key := clicked.clicked(r.db)
	numbers, err := r.walk(ctx, clicked, key, links)
	if c.Reverse {
		return append(others, numbers...), err
	}
	return append(numbers, others...), err
}

// restrict restricts the query for all links to the selected ones.
func (c *pageQuery) restrict(links *bun.SelectQuery) *bun.SelectQuery {
	if c.Hashes == nil && c.Search == "" && c.Tags == nil && c.Bound == nil {
		return links
	}
	return c.selected.Restrict(links, c.small())
}

// clicked returns the query for the selected links that have clicks, and the column to sort by. If
// many links are selected, the query reads the index of clicks alone.
func (c *pageQuery) clicked(db *readmodel.DB) (links *bun.SelectQuery, key string) {
	if c.small() {
		stats := db.NewSelect().TableExpr("linkledger.links AS link").
			Join("JOIN linkledger.link_stats AS stats ON stats.url_id = link.id")
		return c.selected.Restrict(stats, true), "stats.total_clicks"
	}
	stats := db.NewSelect().TableExpr("linkledger.link_stats AS link").
		Where("link.total_clicks > 0")
	return c.selected.Restrict(stats, false), "link.total_clicks"
}

// walk returns the numbers of a page of links in the order of a column. It starts from that end of
// the list which is nearer to the page.
func (r *Reader) walk(
	ctx context.Context, c pageQuery, key string, links *bun.SelectQuery,
) ([]int, error) {
	offset, limit := int64(c.Offset), int64(min(c.Limit, c.total-c.Offset))
	if limit <= 0 { // bun would leave the limit out
		return nil, nil
	}
	fromEnd := c.Offset > c.total/2
	if fromEnd {
		offset = int64(c.total) - offset - limit
	}
	order := "?, link.number"
	if c.Reverse != fromEnd {
		order = "? DESC, link.number DESC"
	}
	var numbers []int
	err := links.ColumnExpr("link.number").Where("link.account_id = ?", c.Account).
		OrderExpr(order, bun.Safe(key)).Offset(offset).Limit(limit).Scan(ctx, &numbers)
	if fromEnd {
		slices.Reverse(numbers)
	}
	return numbers, err
}

// small reports whether sorting the selected links takes less time than walking through all links
// of the account to the page. Looking up one link takes as long as walking past about sixteen.
func (c *pageQuery) small() bool {
	passed := min(c.Offset, c.total-c.Offset) + c.Limit
	return 16*c.total*c.total < passed*len(c.selected)*8
}
