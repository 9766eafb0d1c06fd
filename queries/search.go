package queries

import (
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
)

const (
	// fewSearched is how many links at most are searched one by one.
	fewSearched = 10_000
	// sampled is how many of more links tell whether a text is in most of them.
	sampled = 64
	// indexed is the length of the shortest text that an index finds. For a shorter one every text is read, byte by byte,
	// which takes less than to look for it with LIKE.
	indexed = 3
)

// found keeps the links that a search finds.
func (q *DB) found(ctx context.Context, list ListLinks, met linkSet) (linkSet, error) {
	at, text := momentOf(list.At), readmodel.SearchText(list.Search)
	few := met.count() < fewSearched
	inNotes := strings.Contains(text, "\n") // which only notes have; or else it could lie across two fields
	if !few && !inNotes {
		lacking := q.lacking(list.Account, at, text)
		common, err := isCommon(ctx, lacking.Clone(), met)
		if err != nil {
			return nil, err
		}
		if common {
			missed, err := words(ctx, lacking)
			return met.minus(missed), err
		}
	}
	search := q.having(list.Account, at, text)
	if inNotes {
		search = search.Where(`EXISTS (SELECT FROM `+at.links()+` AS l
			WHERE l.account_id = link.account_id AND l.number = link.number AND l.note ILIKE ?)`, containing(list.Search))
	}
	if list.Hashes != nil || list.Tags != nil {
		search = met.keep(search, few)
	}
	return words(ctx, search)
}

// having returns the question for the links of an account with a text.
func (q *DB) having(account uuid.UUID, at moment, text string) *bun.SelectQuery {
	links := q.db.NewSelect().TableExpr(at.texts()).Where(at.lasting()).Where("account_id = ?", account)
	if utf8.RuneCountInString(text) < indexed {
		return links.Where("position(?::bytea IN textsend(text)) > 0", []byte(text))
	}
	return links.Where("text LIKE ?", containing(text))
}

// lacking returns the question for the links of an account without a text that most have. That condition comes first: it leaves
// little for the others.
func (q *DB) lacking(account uuid.UUID, at moment, text string) *bun.SelectQuery {
	return q.db.NewSelect().TableExpr(at.texts()).Where("text NOT LIKE ?", containing(text)).
		Where(at.lasting()).Where("account_id = ?", account)
}

// isCommon tells whether probably more than half of the links that are met have a text. Then it takes less to gather those
// that lack it.
func isCommon(ctx context.Context, lacking *bun.SelectQuery, met linkSet) (bool, error) {
	var n int
	err := lacking.ColumnExpr("count(*)").Where("number = ANY(?::integer[])", pgdialect.Array(met.sample(sampled))).Scan(ctx, &n)
	return n < sampled/2, err
}

// words returns the set of the links that a question is for. They come as one row: thousands take longer to read than to find.
func words(ctx context.Context, links *bun.SelectQuery) (linkSet, error) {
	var found struct {
		Words []byte `bun:"words"`
		Bits  []byte `bun:"bits"`
	}
	links = links.ColumnExpr("word, bit_or(1::bigint << (63 - number % 64)) AS bits").GroupExpr("word")
	err := links.NewSelect().TableExpr("(?) AS found", links).
		ColumnExpr("string_agg(int4send(word), '') AS words, string_agg(int8send(bits), '') AS bits").Scan(ctx, &found)
	var set linkSet
	for words, bits := found.Words, found.Bits; len(words) > 0; words, bits = words[4:], bits[8:] {
		word := int(binary.BigEndian.Uint32(words))
		set = set.grown(word + 1)
		copy(set[word*wordBits/8:], bits[:8])
	}
	return set, err
}

// containing returns the pattern of texts with this in them.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
