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
	// maxSearchedByNumber bounds the links that are searched one by one.
	maxSearchedByNumber = 20_000
	// sampleSize is how many of a larger number of links are searched to estimate how many match.
	sampleSize = 128
	// maxRareHits is the highest number of matches in the sample with which the search uses an
	// index. If more match, reading all texts takes less time.
	maxRareHits = sampleSize / 64
	// minIndexedLength is the length of the shortest text that an index can find, in code points.
	minIndexedLength = 3
)

// The conditions of a search.
const (
	contains   = "position(?::bytea IN text) > 0" // takes two thirds of the time of LIKE
	lacks      = "position(?::bytea IN text) = 0"
	mayContain = "linkledger.utf8(text) LIKE ?" // uses the index to find candidates
	// The note is what lies between the first and the last line break.
	noteContains = `position(? IN
		(regexp_match(linkledger.utf8(text), E'^[^\n]*\n(.*)\n[^\n]*$'))[1]) > 0`
)

// search returns the selected links that match the search of a list. If many links are selected, it
// searches a sample first to choose the cheapest way. If most links match, it reads the links that
// do not match.
func (r *Reader) search(
	ctx context.Context, list Query, selected linkset.Set,
) (linkset.Set, error) {
	last := selected.Numbers(0, 1, false)
	if len(last) == 0 {
		return selected, nil
	}
	at, text := asof.At(list.At), readmodel.SearchText(list.Search)
	texts := func() *bun.SelectQuery {
		return r.db.NewSelect().TableExpr(at.SearchTexts()).Where("account_id = ?", list.Account).
			Where("number <= ?", last[0]) // at an early moment, few of the links existed
	}
	bounded := list.Hashes != nil || list.Tags != nil || list.Bound != nil
	few := selected.Count() < maxSearchedByNumber
	// A text with a line break can only match a note. But line breaks also separate the fields of a
	// search text, so the text could match across two fields.
	inNotes := strings.Contains(text, "\n")
	hits := 0
	if !few && !inNotes {
		err := texts().ColumnExpr("count(*)").
			Where("number = ANY(?::integer[])", pgdialect.Array(selected.Sample(sampleSize))).
			Where(contains, []byte(text)).Scan(ctx, &hits)
		if err != nil {
			return nil, err
		}
	}
	if hits > sampleSize/2 {
		missed, err := selected.Matching(ctx, texts().Where(lacks, []byte(text)))
		return selected.Minus(missed), err
	}
	// A search with a bound does not use the index, because the index also has the texts of links
	// that the bound hides.
	indexed := !at.Past() && hits <= maxRareHits && list.Bound == nil &&
		utf8.RuneCountInString(text) >= minIndexedLength
	search := texts()
	if bounded && few || list.Bound != nil { // first, so that no other text is compared
		selected.Restrict(search, few)
	}
	search.Where(contains, []byte(text))
	if indexed {
		search.Where(mayContain, containing(text))
	}
	if inNotes {
		search.Where(noteContains, text)
	}
	return selected.Matching(ctx, search)
}

// containing returns the LIKE pattern of the texts that contain a text.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
