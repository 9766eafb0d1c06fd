package linklist

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/readmodel"
	"linkledger/queries/asof"
	"linkledger/queries/linkset"
)

const (
	// fewSearched is how many links at most are searched one by one.
	fewSearched = 20_000
	// sampled is how many of more links tell how many have a text.
	sampled = 128
	// rare is how many of those may have a text that an index is asked for. When more have it, it
	// takes less to read all texts.
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
func (r *Reader) found(ctx context.Context, list Query, met linkset.Set) (linkset.Set, error) {
	at, text := asof.At(list.At), readmodel.SearchText(list.Search)
	texts := func(all bool) *bun.SelectQuery {
		return r.db.NewSelect().TableExpr(at.Texts(all)).Where("account_id = ?", list.Account)
	}
	few := met.Count() < fewSearched
	// which only notes have; or else it could lie across two fields
	inNotes := strings.Contains(text, "\n")
	hits := 0
	if !few && !inNotes {
		err := texts(false).ColumnExpr("count(*)").Where(
			"number = ANY(?::integer[])", pgdialect.Array(met.Sample(sampled)),
		).
			Where(having, []byte(text)).Scan(ctx, &hits)
		if err != nil {
			return nil, err
		}
	}
	if hits > sampled/2 {
		missed, err := met.Chosen(ctx, texts(true).Where(lacking, []byte(text)))
		return met.Minus(missed), err
	}
	all := hits > rare || utf8.RuneCountInString(text) < indexed
	search := texts(all).Where(having, []byte(text))
	if !all {
		search.Where(indexes, containing(text))
	}
	if inNotes {
		search.Where(`EXISTS (SELECT FROM `+at.Links()+` AS l
			WHERE l.account_id = link.account_id AND l.number = link.number AND l.note ILIKE ?)`,
			containing(list.Search))
	}
	if few && (list.Hashes != nil || list.Tags != nil) {
		met.Keep(search, few)
	}
	return met.Chosen(ctx, search)
}

// containing returns the pattern of texts with this in them.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
