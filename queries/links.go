package queries

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
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

// ListLinks selects a page of an account's live links. What is not given selects all.
type ListLinks struct {
	At      time.Time // as the links were then; zero: now
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

// Links returns a page of an account's live links. What is deleted meanwhile is left out. A tag that the account does not
// have then is an *UnknownTagError. An order by clicks and an expression with visited are ErrNoPast where a moment is given:
// clicks are known by the day.
func (q *DB) Links(ctx context.Context, list ListLinks) (Page, error) {
	page := Page{Links: []Link{}}
	if !storable(list.Search) {
		return page, nil
	}
	at := momentOf(list.At)
	if at.past && (list.Order == ClicksFirst || list.Tags != nil && list.Tags.AsksForVisits()) {
		return Page{}, failed("links", ErrNoPast)
	}
	tagged, err := q.tagged(ctx, list.Account, list.Tags, at)
	if err != nil {
		return Page{}, err
	}
	met, err := tagged.all(ctx)
	if err == nil && list.Hashes != nil {
		met, err = q.hashed(ctx, list, met)
	}
	if err == nil && list.Search != "" {
		met, err = q.found(ctx, list, met)
	}
	if err != nil {
		return Page{}, failed("links", err)
	}
	c := cut{ListLinks: list, met: met, total: met.count()}
	page.Total = int64(c.total)
	if list.Limit <= 0 || list.Offset >= c.total {
		return page, nil
	}
	numbers, err := q.cut(ctx, c)
	if err != nil {
		return Page{}, failed("links", err)
	}
	if page.Links, err = q.numbered(ctx, list.Account, numbers, at); err != nil {
		return Page{}, failed("links", err)
	}
	return page, nil
}

// hashed keeps the links that live under the hashes of a list.
func (q *DB) hashed(ctx context.Context, list ListLinks, met linkSet) (linkSet, error) {
	numbers, err := q.under(ctx, list.Account, list.Hashes, momentOf(list.At))
	return setOf(slices.DeleteFunc(numbers, func(n int) bool { return !met.has(n) })), err
}

// under returns the numbers of the links of an account that live under hashes.
func (q *DB) under(ctx context.Context, account uuid.UUID, hashes []string, at moment) (numbers []int, err error) {
	links := q.standing(at)
	for _, some := range links {
		some.ColumnExpr("link.number").Where("account_id = ?", account).Where("hash = ANY(?::text[])", pgdialect.Array(hashes))
	}
	err = q.joined(links).Scan(ctx, &numbers)
	return numbers, err
}

// numbered returns the live links of those numbers, in the order of the numbers.
func (q *DB) numbered(ctx context.Context, account uuid.UUID, numbers []int, at moment) ([]Link, error) {
	if len(numbers) == 0 {
		return []Link{}, nil
	}
	if at.past {
		return q.numberedThen(ctx, account, numbers, at)
	}
	links := []Link{}
	err := q.db.NewSelect().ColumnExpr(linkColumns).TableExpr(linkTables).
		Join("JOIN unnest(?::integer[]) WITH ORDINALITY AS cut (number, place) ON cut.number = link.number", pgdialect.Array(numbers)).
		Where("link.account_id = ?", account).Where("link.deleted_at IS NULL").OrderExpr("cut.place").Scan(ctx, &links)
	return links, err
}
