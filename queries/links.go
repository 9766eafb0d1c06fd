package queries

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/queries/tagexpr"
)

// Order is what a list of links is sorted by.
type Order int

// The orders. Links that are equal in one follow each other as in NewestFirst.
const (
	NewestFirst   Order = iota // by creation
	ModifiedFirst              // by the last change
	ClicksFirst                // by total clicks
	ByHash                     // ascending
)

// orders are the sort keys, forwards and reversed.
var orders = map[Order][2]string{
	NewestFirst: {"link.position DESC, link.id DESC", "link.position, link.id"},
	ModifiedFirst: {
		"link.modified_at DESC, link.position DESC, link.id DESC", "link.modified_at, link.position, link.id",
	},
	ClicksFirst: {
		"coalesce(stats.total_clicks, 0) DESC, link.position DESC, link.id DESC",
		"coalesce(stats.total_clicks, 0), link.position, link.id",
	},
	ByHash: {"link.hash, link.position DESC, link.id DESC", "link.hash DESC, link.position, link.id"},
}

// ListLinks selects a page of an account's live links. What is not given selects all.
type ListLinks struct {
	Account uuid.UUID
	Hashes  []string      // only the links that live under these; nil: all
	Search  string        // only links with this in hash, note or long URL, in whatever case
	Tags    *tagexpr.Expr // only links that meet this
	Order   Order
	Reverse bool
	Offset  int // links to pass over
	Limit   int // most links of the page; 0 asks for the total only
}

// Page is a part of an account's links.
type Page struct {
	Links []Link
	Total int64 // links that the selection matches, on all pages
}

// Links returns a page of an account's live links. A tag that the account does not have is an *UnknownTagError.
func (q *DB) Links(ctx context.Context, list ListLinks) (Page, error) {
	page := Page{Links: []Link{}}
	if !storable(list.Search) {
		return page, nil
	}
	match, err := q.match(ctx, list)
	if err != nil {
		return Page{}, err
	}
	total := q.db.NewSelect().TableExpr("linkledger.accounts").ColumnExpr("urls").Where("id = ?", list.Account)
	if list.Hashes != nil || list.Search != "" || list.Tags != nil { // else the counter tells, and nothing is counted by scan
		total = match(q.db.NewSelect().TableExpr("linkledger.links AS link").ColumnExpr("count(*)"))
	}
	if err := q.db.NewSelect().ColumnExpr("coalesce((?), 0)", total).Scan(ctx, &page.Total); err != nil {
		return Page{}, failed("links", err)
	}
	if list.Limit <= 0 || int64(list.Offset) >= page.Total { // to bun, no limit would mean everything
		return page, nil
	}
	order := orders[list.Order][0]
	if list.Reverse {
		order = orders[list.Order][1]
	}
	// The page is cut from an index where there is one for the order; only its own links are looked up.
	cut := match(q.db.NewSelect().ColumnExpr("link.id").TableExpr("linkledger.links AS link"))
	if list.Order == ClicksFirst {
		cut = cut.Join("LEFT JOIN linkledger.link_stats AS stats ON stats.url_id = link.id")
	}
	cut = cut.OrderExpr(order).Offset(int64(list.Offset)).Limit(int64(list.Limit))
	err = q.db.NewSelect().With("cut", cut).ColumnExpr(linkColumns).
		TableExpr("cut JOIN linkledger.links AS link USING (id)").
		Join("LEFT JOIN linkledger.link_stats AS stats ON stats.url_id = link.id").
		OrderExpr(order).Scan(ctx, &page.Links)
	if err != nil {
		return Page{}, failed("links", err)
	}
	return page, nil
}

// match returns what keeps the links that a list selects.
func (q *DB) match(ctx context.Context, list ListLinks) (func(*bun.SelectQuery) *bun.SelectQuery, error) {
	var tagged string
	var args []any
	if list.Tags != nil {
		tagID, err := q.tagIDs(ctx, list.Account, list.Tags)
		if err != nil {
			return nil, err
		}
		tagged, args = list.Tags.SQL(tagID)
	}
	return func(links *bun.SelectQuery) *bun.SelectQuery {
		links = links.Where("link.account_id = ?", list.Account).Where("link.deleted_at IS NULL")
		if list.Hashes != nil {
			links = links.Where("link.hash = ANY(?::text[])", pgdialect.Array(list.Hashes))
		}
		if list.Search != "" {
			links = links.Where("link.long_url || E'\\n' || link.note || E'\\n' || link.hash COLLATE \"default\" ILIKE ?", containing(list.Search))
		}
		if strings.Contains(list.Search, "\n") { // which only notes have; or else it could lie across two fields
			links = links.Where("link.note ILIKE ?", containing(list.Search))
		}
		if tagged != "" {
			links = links.Where(tagged, args...)
		}
		return links
	}, nil
}

// containing returns the pattern of texts with this in them.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
