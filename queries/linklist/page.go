package linklist

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/queries/asof"
	"linkledger/queries/linkset"
)

// pageQuery is a page of a list: a part of the links that the list selects, in its order.
type pageQuery struct {
	Query
	selected linkset.Set // what the list selects
	total    int         // links of it
}

// pageNumbers returns the numbers of the links of a page. Offset lies below the total.
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
		links := asof.At(c.At).ByHash(r.db)
		for _, query := range links {
			c.restrict(query)
		}
		return r.walk(ctx, c, "link.hash", links...)
	case ClicksFirst:
		return r.pageByClicks(ctx, c)
	case NewestFirst:
	}
	return c.selected.Numbers(c.Offset, c.Limit, c.Reverse), nil
}

// pageByClicks puts the links with clicks together, which an index orders, and the others, which
// follow by creation.
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

// restrict narrows the question for all links down to those of the list.
func (c *pageQuery) restrict(links *bun.SelectQuery) *bun.SelectQuery {
	if c.Hashes == nil && c.Search == "" && c.Tags == nil {
		return links
	}
	return c.selected.Restrict(links, c.small())
}

// clicked returns the question for the links of the list that have clicks, and their key. Those that
// are many come from the index of clicks alone.
func (c *pageQuery) clicked(db *readmodel.DB) (links *bun.SelectQuery, key string) {
	if few := c.small(); few {
		return c.selected.Restrict(db.NewSelect().TableExpr("linkledger.links AS link").
			Join("JOIN linkledger.link_stats AS stats ON stats.url_id = link.id"),
			few), "stats.total_clicks"
	}
	return c.selected.Restrict(db.NewSelect().TableExpr("linkledger.link_stats AS link").
		Where("link.total_clicks > 0"), false), "link.total_clicks"
}

// walk passes over the links before the page in the order of a key, from whichever end is nearer.
// Of several questions, each is asked in that order: of all of them together, PostgreSQL would walk
// through tables where hardly anything answers.
func (r *Reader) walk(
	ctx context.Context, c pageQuery, key string, queries ...*bun.SelectQuery,
) ([]int, error) {
	offset, limit, order := int64(c.Offset), int64(min(c.Limit, c.total-c.Offset)), "?, link.number"
	if limit <= 0 { // to bun, no limit would mean everything
		return nil, nil
	}
	fromEnd := c.Offset > c.total/2
	if fromEnd {
		offset = int64(c.total) - offset - limit
	}
	if c.Reverse != fromEnd {
		order = "? DESC, link.number DESC"
	}
	for _, links := range queries {
		links.ColumnExpr("link.number").Where("link.account_id = ?", c.Account)
		if len(queries) > 1 {
			links.ColumnExpr("? AS key", bun.Safe(key)).OrderExpr(order, bun.Safe(key)).Limit(
				offset + limit,
			)
		}
	}
	if len(queries) > 1 {
		key = "link.key"
	}
	var numbers []int
	err := asof.UnionAll(r.db, queries).OrderExpr(order, bun.Safe(key)).Offset(offset).Limit(
		limit,
	).Scan(ctx, &numbers)
	if fromEnd {
		slices.Reverse(numbers)
	}
	return numbers, err
}

// small tells whether the links of the list are better sorted than met on the way through all links
// of the account. To look one up costs as much as to pass by some sixteen.
func (c *pageQuery) small() bool {
	passed := min(c.Offset, c.total-c.Offset) + c.Limit
	return 16*c.total*c.total < passed*len(c.selected)*8
}
