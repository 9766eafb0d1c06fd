package queries

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// ListLinks selects a page of an account's live links.
type ListLinks struct {
	Account uuid.UUID
	Hashes  []string // only the links that live under these; nil: all
	Offset  int      // links to pass over
	Limit   int      // most links of the page; 0 asks for the total only
}

// Page is a part of an account's links.
type Page struct {
	Links []Link
	Total int64 // links that the selection matches, on all pages
}

// Links returns a page of an account's live links, the newest first.
func (q *DB) Links(ctx context.Context, list ListLinks) (Page, error) {
	page := Page{Links: []Link{}}
	total := q.db.NewSelect().TableExpr("linkledger.accounts").ColumnExpr("urls").Where("id = ?", list.Account)
	if list.Hashes != nil { // or else the counter tells the total, and nothing is counted by scan
		total = list.filter(q.db.NewSelect().TableExpr("linkledger.links").ColumnExpr("count(*)"))
	}
	if err := q.db.NewSelect().ColumnExpr("coalesce((?), 0)", total).Scan(ctx, &page.Total); err != nil {
		return Page{}, failed("links", err)
	}
	if list.Limit <= 0 { // to bun, no limit would mean everything
		return page, nil
	}
	// The page is cut from the index alone; only its own links are looked up.
	cut := list.filter(q.db.NewSelect().ColumnExpr("id").TableExpr("linkledger.links")).
		OrderExpr("position DESC, id DESC").Offset(int64(list.Offset)).Limit(int64(list.Limit))
	err := q.db.NewSelect().With("cut", cut).ColumnExpr(linkColumns).
		TableExpr("cut JOIN linkledger.links AS link USING (id)").
		Join("LEFT JOIN linkledger.link_stats AS stats ON stats.url_id = link.id").
		OrderExpr("link.position DESC, link.id DESC").Scan(ctx, &page.Links)
	if err != nil {
		return Page{}, failed("links", err)
	}
	return page, nil
}

// filter keeps the links that the list selects.
func (l ListLinks) filter(links *bun.SelectQuery) *bun.SelectQuery {
	links = links.Where("account_id = ?", l.Account).Where("deleted_at IS NULL")
	if l.Hashes != nil {
		links = links.Where("hash = ANY(?::text[])", pgdialect.Array(l.Hashes))
	}
	return links
}
