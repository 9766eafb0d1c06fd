package queries

import (
	"context"

	"github.com/google/uuid"
)

// ListLinks selects a page of an account's live links.
type ListLinks struct {
	Account uuid.UUID
	Offset  int // links to pass over
	Limit   int // most links of the page; 0 asks for the total only
}

// Page is a part of an account's links.
type Page struct {
	Links []Link
	Total int64 // links that the selection matches, on all pages
}

// Links returns a page of an account's live links, the newest first.
func (q *DB) Links(ctx context.Context, list ListLinks) (Page, error) {
	page := Page{Links: []Link{}}
	// Unfiltered, so the counter tells the total and nothing is counted by scan.
	if err := q.db.NewRaw("SELECT coalesce((SELECT urls FROM linkledger.accounts WHERE id = ?), 0)", list.Account).
		Scan(ctx, &page.Total); err != nil {
		return Page{}, failed("links", err)
	}
	if list.Limit <= 0 { // to bun, no limit would mean everything
		return page, nil
	}
	// The page is cut from the index alone; only its own links are looked up.
	cut := q.db.NewSelect().ColumnExpr("id").TableExpr("linkledger.links").
		Where("account_id = ?", list.Account).Where("deleted_at IS NULL").
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
