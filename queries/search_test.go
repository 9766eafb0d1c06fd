package queries

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/queries/tagexpr"
)

// A search of many links finds the same whether it gathers those that have a text or, where most have it, the others.
func TestSearchOfManyLinks(t *testing.T) {
	t.Parallel()
	const links = 6 * fewSearched / 5
	db, account := openDatabase(t), uuid.New()
	q := New(db)
	loadLinks(t, db, account, links)
	loadHistory(t, db, account, links)
	allButOneTag, err := tagexpr.Parse("~tag7")
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{{}, created.Add(links * 11 / 12 * 10 * time.Second), created.AddDate(50, 0, 0)} {
		for _, text := range []string{"example", "A", "3f", "note", "note 77", "abc", "/1199", "nowhere", "s"} {
			for _, tags := range []*tagexpr.Expr{nil, allButOneTag} {
				var want []int
				then := momentOf(at)
				if err := db.NewSelect().TableExpr(then.links()+" AS link").ColumnExpr("number").
					Where("strpos(lower(long_url || chr(10) || note || chr(10) || hash), lower(?)) > 0", text).
					Where("? OR md5('tag7')::uuid <> ALL(tag_ids)", tags == nil).OrderExpr("number").
					Scan(t.Context(), &want); err != nil {
					t.Fatal(err)
				}
				chosen, err := q.tagged(t.Context(), account, tags, then)
				if err != nil {
					t.Fatal(err)
				}
				met, err := chosen.all(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				found, err := q.found(t.Context(), ListLinks{At: at, Account: account, Search: text, Tags: tags}, met)
				if err != nil {
					t.Fatal(err)
				}
				numbers := found.numbers(0, links, true)
				if !slices.Equal(numbers, want) {
					t.Errorf("%q at %s, %v: %d links, want %d", text, at, tags, len(numbers), len(want))
				}
			}
		}
	}
}
