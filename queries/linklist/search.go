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
	// maxSearchedByNumber is how many links at most are searched one by one.
	maxSearchedByNumber = 20_000
	// sampleSize is how many of more links tell how many have a text.
	sampleSize = 128
	// maxRareHits is how many of those may have a text that an index is asked for. When more have it, it
	// takes less to read all texts.
	maxRareHits = sampleSize / 64
	// minIndexedLength is the length of the shortest text that an index finds.
	minIndexedLength = 3
)

// The conditions of a search.
const (
	contains   = "position(?::bytea IN text) > 0" // which takes two thirds of the time of LIKE
	lacks      = "position(?::bytea IN text) = 0"
	mayContain = "linkledger.utf8(text) LIKE ?" // asks the index for candidates
)

// search keeps the links that a search finds.
func (r *Reader) search(ctx context.Context, list Query, selected linkset.Set) (linkset.Set, error) {
	at, text := asof.At(list.At), readmodel.SearchText(list.Search)
	texts := func(all bool) *bun.SelectQuery {
		return r.db.NewSelect().TableExpr(at.SearchTexts(all)).Where("account_id = ?", list.Account)
	}
	few := selected.Count() < maxSearchedByNumber
	// which only notes have; or else it could lie across two fields
	inNotes := strings.Contains(text, "\n")
	hits := 0
	if !few && !inNotes {
		err := texts(false).ColumnExpr("count(*)").Where(
			"number = ANY(?::integer[])", pgdialect.Array(selected.Sample(sampleSize)),
		).
			Where(contains, []byte(text)).Scan(ctx, &hits)
		if err != nil {
			return nil, err
		}
	}
	if hits > sampleSize/2 {
		missed, err := selected.Matching(ctx, texts(true).Where(lacks, []byte(text)))
		return selected.Minus(missed), err
	}
	all := hits > maxRareHits || utf8.RuneCountInString(text) < minIndexedLength
	search := texts(all).Where(contains, []byte(text))
	if !all {
		search.Where(mayContain, containing(text))
	}
	if inNotes {
		search.Where(`EXISTS (SELECT FROM `+at.Links()+` AS l
			WHERE l.account_id = link.account_id AND l.number = link.number AND l.note ILIKE ?)`,
			containing(list.Search))
	}
	if few && (list.Hashes != nil || list.Tags != nil) {
		selected.Restrict(search, few)
	}
	return selected.Matching(ctx, search)
}

// containing returns the pattern of texts with this in them.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
