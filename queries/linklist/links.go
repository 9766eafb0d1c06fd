// Package linklist lists the links of an account that match a search or an expression, in an order,
// page by page or in portions.
package linklist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/asof"
	"linkledger/queries/linkset"
	"linkledger/tagexpr"
)

// ErrNoPast means that a list at a past moment is ordered or filtered by clicks. The read models
// cannot answer that.
var ErrNoPast = errors.New("links at a past moment cannot be ordered or filtered by clicks")

// Reader lists links from the read models. It is safe for concurrent use.
type Reader struct {
	db      *readmodel.DB
	queries *queries.DB
}

// New returns a Reader of a prepared database.
func New(db *readmodel.DB) *Reader { return &Reader{db: db, queries: queries.New(db)} }

// Order is what a list of links is sorted by.
type Order int

// The orders. Links that are equal in an order are sorted as in NewestFirst.
const (
	NewestFirst   Order = iota // by creation
	ModifiedFirst              // by the last change
	ClicksFirst                // by total clicks
	ByHash                     // ascending
)

// Query selects a page of an account's live links. A field without a value does not restrict them.
type Query struct {
	Owner
	At      time.Time     // see the links as they were then; zero: now
	Hashes  []string      // only links with these hashes; nil: all
	Search  string        // only links with this in hash, note or long URL; ignores case
	Tags    *tagexpr.Expr // only links that match
	Order   Order
	Reverse bool
	Offset  int // links to skip
	Limit   int // most links of the page; 0 asks for the total only
}

// Page is a page of an account's links.
type Page struct {
	Links []queries.Link
	Total int64 // links on all pages
}

// Links returns a page of an account's live links. It leaves out links that are deleted meanwhile.
// It returns an *UnknownTagError if the account did not have a tag of the expression at the time.
// For a past moment it returns ErrNoPast if the order is ClicksFirst or the expression depends on
// clicks, because clicks are stored only by day.
func (r *Reader) Links(ctx context.Context, list Query) (Page, error) {
	page := Page{Links: []queries.Link{}}
	if !queries.Storable(list.Search) {
		return page, nil
	}
	at := asof.At(list.At)
	needsClicks := list.Order == ClicksFirst || list.Tags != nil && list.Tags.DependsOnClicks()
	if at.Past() && needsClicks {
		return Page{}, fmt.Errorf("links: %w", ErrNoPast)
	}
	tagged, err := r.tagged(ctx, list.Owner, list.Tags, at)
	if err != nil {
		return Page{}, err
	}
	selected, err := tagged.All(ctx)
	if err == nil && list.Hashes != nil {
		selected, err = r.withHashes(ctx, list, selected)
	}
	if err == nil && list.Search != "" {
		selected, err = r.search(ctx, list, selected)
	}
	if err != nil {
		return Page{}, fmt.Errorf("links: %w", err)
	}
	c := pageQuery{Query: list, selected: selected, total: selected.Count()}
	page.Total = int64(c.total)
	if list.Limit <= 0 || list.Offset >= c.total {
		return page, nil
	}
	numbers, err := r.pageNumbers(ctx, c)
	if err != nil {
		return Page{}, fmt.Errorf("links: %w", err)
	}
	if page.Links, err = r.queries.LinksByNumber(ctx, list.Account, numbers, at); err != nil {
		return Page{}, fmt.Errorf("links: %w", err)
	}
	return page, nil
}

// withHashes returns the selected links that have one of the hashes of a list.
func (r *Reader) withHashes(
	ctx context.Context, list Query, selected linkset.Set,
) (linkset.Set, error) {
	numbers, err := r.queries.LinkNumbers(ctx, list.Account, list.Hashes, asof.At(list.At))
	return linkset.Of(slices.DeleteFunc(numbers, func(n int) bool { return !selected.Has(n) })), err
}
