package linklist

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/queries/asof"
	"linkledger/queries/queriestest"
	"linkledger/tagexpr"
)

// TestSearchOfManyLinks checks that a search of many links has the same result whether it collects
// the links that match or, if most links match, those that do not.
func TestSearchOfManyLinks(t *testing.T) {
	t.Parallel()
	const links = 6 * maxSearchedByNumber / 5
	db, account := queriestest.OpenDatabase(t), uuid.New()
	q := New(db)
	queriestest.LoadLinks(t, db, account, links)
	loadHistory(t, db, account, links)
	for _, note := range []string{
		`UPDATE history_g2.link_versions SET note = E'50% Ünï \\303' WHERE number % 100 = 5 AND revision >= 3`,
		`UPDATE history_g2.text_versions AS t SET text = convert_to(lower(long_url || E'\n' || v.note || E'\n' || v.hash COLLATE "default"), 'UTF8')
			FROM history_g2.link_versions AS v WHERE v.id = t.link_id AND v.since = t.since AND v.number % 100 = 5 AND v.revision = 3`,
	} {
		if _, err := db.NewRaw(note).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	allButOneTag, err := tagexpr.Parse("~tag7")
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{{}, created.Add(links * 11 / 12 * 10 * time.Second), created.AddDate(50, 0, 0)} {
		for _, text := range []string{
			"example", "A", "3f", "note", "note 77", "abc", "/1199", "nowhere", "s", "Ü", "ünï", "% ü", "303", `ï \3`,
			`\303`, `\`,
		} {
			for _, tags := range []*tagexpr.Expr{nil, allButOneTag} {
				var want []int
				then := asof.At(at)
				if err := db.NewSelect().TableExpr(then.Links()+" AS link").ColumnExpr("number").
					Where(
						"strpos(lower(long_url || chr(10) || note || chr(10) || hash COLLATE \"default\"), lower(?)) "+
							"> 0",
						text,
					).
					Where("? OR md5('tag7')::uuid <> ALL(tag_ids)", tags == nil).OrderExpr("number").
					Scan(t.Context(), &want); err != nil {
					t.Fatal(err)
				}
				for _, list := range []Query{
					{At: at, Owner: Owner{Account: account}, Search: text, Tags: tags},
					{At: at, Owner: Owner{Account: account, Bound: tags}, Search: text},
				} {
					chosen, err := q.tagged(t.Context(), list.Owner, list.Tags, then)
					if err != nil {
						t.Fatal(err)
					}
					met, err := chosen.All(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					found, err := q.search(t.Context(), list, met)
					if err != nil {
						t.Fatal(err)
					}
					if numbers := found.Numbers(0, links, true); !slices.Equal(numbers, want) {
						t.Errorf("%q at %s, %+v: %d links, want %d", text, at, list, len(numbers), len(want))
					}
				}
			}
		}
	}
}

func TestSearchUsesTheIndex(t *testing.T) {
	t.Parallel()
	db, ctx, account := queriestest.OpenDatabase(t), queriestest.WithTimeout(t), uuid.New()
	queriestest.FillGeneration(t, db, "links", []string{
		`INSERT INTO ?schema.link_texts SELECT ?account, n, md5(n::text)::bytea FROM generate_series(1, ?links) n`,
	}, account, 20_000)
	var plan []string
	query := db.NewSelect().TableExpr(asof.Now.SearchTexts()).ColumnExpr("number").Where("account_id = ?", account).
		Where(mayContain, containing("c4ca4238"))
	if err := db.NewRaw("EXPLAIN ?", query).Scan(ctx, &plan); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(plan); !strings.Contains(text, "link_texts_search") {
		t.Errorf("the plan of a search does not use the index: %s", text)
	}
}
