package queries

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
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

const (
	// fewSearched is how many links at most are searched one by one.
	fewSearched = 10_000
	// sampled is how many of more links tell whether a text is in most of them.
	sampled = 64
)

// indexed is the length of the shortest text that an index finds. For a shorter one every text is read, byte by byte, which
// takes less than to look for it with LIKE.
const indexed = 3

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
	var numbers []int
	err := q.standing(momentOf(list.At)).ColumnExpr("number").Where("account_id = ?", list.Account).
		Where("hash = ANY(?::text[])", pgdialect.Array(list.Hashes)).Scan(ctx, &numbers)
	return setOf(slices.DeleteFunc(numbers, func(n int) bool { return !met.has(n) })), err
}

// found keeps the links that a search finds.
func (q *DB) found(ctx context.Context, list ListLinks, met linkSet) (linkSet, error) {
	at, text := momentOf(list.At), readmodel.SearchText(list.Search)
	few := met.count() < fewSearched
	if !few && !strings.Contains(text, "\n") {
		if common, err := q.common(ctx, list.Account, at, text, met); err != nil {
			return nil, err
		} else if common {
			missed, err := q.words(ctx, list.Account, q.db.NewSelect().TableExpr(at.texts()).
				Where("text NOT LIKE ?", containing(text)).Where(at.lasting())) // in this order: few are left for the rest
			return met.minus(missed), err
		}
	}
	search := q.search(list)
	if list.Hashes != nil || list.Tags != nil {
		search = met.keep(search, few)
	}
	return q.words(ctx, list.Account, search)
}

// common tells whether more than half of some links have a text in them. Then it takes less to gather the others.
func (q *DB) common(ctx context.Context, account uuid.UUID, at moment, text string, links linkSet) (bool, error) {
	var found int
	err := q.texts(at).ColumnExpr("count(*)").Where("account_id = ?", account).
		Where("number = ANY(?::integer[])", pgdialect.Array(links.sample(sampled))).
		Where("text LIKE ?", containing(text)).Scan(ctx, &found)
	return found > sampled/2, err
}

// words returns the set of an account's links that a question is about.
func (q *DB) words(ctx context.Context, account uuid.UUID, links *bun.SelectQuery) (linkSet, error) {
	var rows []struct {
		Word int   `bun:"word"`
		Bits int64 `bun:"bits"`
	}
	err := links.ColumnExpr("word, bit_or(1::bigint << (63 - number % 64)) AS bits").Where("account_id = ?", account).
		GroupExpr("word").Scan(ctx, &rows)
	var set linkSet
	for _, row := range rows {
		set = set.grown(row.Word + 1)
		binary.BigEndian.PutUint64(set[row.Word*wordBits/8:], uint64(row.Bits)) //nolint:gosec // its bits
	}
	return set, err
}

// search returns the question for what a search finds.
func (q *DB) search(list ListLinks) *bun.SelectQuery {
	at := momentOf(list.At)
	search := q.texts(at)
	if text := readmodel.SearchText(list.Search); utf8.RuneCountInString(text) < indexed {
		search = search.Where("position(?::bytea IN textsend(text)) > 0", []byte(text))
	} else {
		search = search.Where("text LIKE ?", containing(text))
	}
	if strings.Contains(list.Search, "\n") { // which only notes have; or else it could lie across two fields
		search = search.Where(`EXISTS (SELECT FROM `+at.links()+` AS l
			WHERE l.account_id = link.account_id AND l.number = link.number AND l.note ILIKE ?)`, containing(list.Search))
	}
	return search
}

// containing returns the pattern of texts with this in them.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
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
