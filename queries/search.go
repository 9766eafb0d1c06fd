package queries

import (
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
)

const (
	// fewSearched is how many links at most are searched one by one.
	fewSearched = 20_000
	// sampled is how many of more links tell how many have a text.
	sampled = 128
	// rare is how many of those may have a text that an index is asked for. When more have it, it takes less to read all texts.
	rare = sampled / 64
	// indexed is the length of the shortest text that an index finds.
	indexed = 3
)

// The conditions of a search.
const (
	having  = "position(?::bytea IN text) > 0" // which takes two thirds of the time of LIKE
	lacking = "position(?::bytea IN text) = 0"
	indexes = "linkledger.utf8(text) LIKE ?" // asks the index for candidates
)

// found keeps the links that a search finds.
func (q *DB) found(ctx context.Context, list ListLinks, met linkSet) (linkSet, error) {
	at, text := momentOf(list.At), readmodel.SearchText(list.Search)
	texts := func(all bool) *bun.SelectQuery {
		return q.db.NewSelect().TableExpr(at.texts(all)).Where("account_id = ?", list.Account)
	}
	few := met.count() < fewSearched
	inNotes := strings.Contains(text, "\n") // which only notes have; or else it could lie across two fields
	hits := 0
	if !few && !inNotes {
		err := texts(false).ColumnExpr("count(*)").Where("number = ANY(?::integer[])", pgdialect.Array(met.sample(sampled))).
			Where(having, []byte(text)).Scan(ctx, &hits)
		if err != nil {
			return nil, err
		}
	}
	if hits > sampled/2 {
		missed, err := met.chosen(ctx, texts(true).Where(lacking, []byte(text)))
		return met.minus(missed), err
	}
	all := hits > rare || utf8.RuneCountInString(text) < indexed
	search := texts(all).Where(having, []byte(text))
	if !all {
		search.Where(indexes, containing(text))
	}
	if inNotes {
		search.Where(`EXISTS (SELECT FROM `+at.links()+` AS l
			WHERE l.account_id = link.account_id AND l.number = link.number AND l.note ILIKE ?)`, containing(list.Search))
	}
	if few && (list.Hashes != nil || list.Tags != nil) {
		met.keep(search, few)
	}
	return met.chosen(ctx, search)
}

// chosen returns the links of the set that a question is for. They come as one value: thousands of rows take longer to read
// than to find.
func (s linkSet) chosen(ctx context.Context, links *bun.SelectQuery) (linkSet, error) {
	const header, element = 20, 8 // bytes of an array of integers as PostgreSQL sends it; the last 4 of an element are the integer
	var array []byte
	err := links.ColumnExpr("array_send(linkledger.parallel_array_agg(link.number))").Scan(ctx, &array)
	chosen := make(linkSet, len(s))
	for at := header; at < len(array); at += element {
		if n := int(binary.BigEndian.Uint32(array[at+element-4:])); s.has(n) {
			chosen[n/8] |= 0x80 >> (n % 8)
		}
	}
	return chosen, err
}

// containing returns the pattern of texts with this in them.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
