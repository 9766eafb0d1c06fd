package linklist

import (
	"context"
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/queries/queriestest"
	"linkledger/tagexpr"
)

var manyLinks = flag.Int("links", 1_000_000, "links of the account in BenchmarkLinks")

// BenchmarkLinks reads pages of an account with many links.
func BenchmarkLinks(b *testing.B) {
	db := queriestest.OpenDatabase(b)
	lists, account := New(db), uuid.New()
	queriestest.LoadLinks(b, db, account, *manyLinks)
	benchmarkControls(b, db, account, "links")
	half := *manyLinks / 2
	for _, list := range []struct {
		name string
		list Query
		tags string
	}{
		{name: "first page"},
		{name: "offset 500,000", list: Query{Offset: half}},
		{name: "oldest first", list: Query{Reverse: true}},
		{name: "by modification", list: Query{Order: ModifiedFirst}},
		{name: "by modification, offset 500,000", list: Query{Order: ModifiedFirst, Offset: half}},
		{name: "by hash", list: Query{Order: ByHash}},
		{name: "by hash, offset 500,000", list: Query{Order: ByHash, Offset: half}},
		{name: "by clicks", list: Query{Order: ClicksFirst}},
		{name: "by clicks, offset 250,000", list: Query{Order: ClicksFirst, Offset: half / 2}},
		{name: "by clicks, offset 500,000", list: Query{Order: ClicksFirst, Offset: half}},
		{name: "tag of 10,000", tags: "tag7"},
		{name: "two tags", tags: "+tag8&+tag100"},
		{name: "tag of 250,000", tags: "tag101"},
		{name: "tag of 250,000, offset 200,000", list: Query{Offset: half / 5 * 2}, tags: "tag101"},
		{name: "negation", tags: "~tag7"},
		{name: "negation, offset 500,000", list: Query{Offset: half}, tags: "~tag7"},
		{name: "or", tags: "tag101|tag102|tag8"},
		{name: "xor", tags: "tag101^email_stats"},
		{name: "and, or, not", tags: "(+tag8|+tag9)&~protected&visited"},
		{name: "100 operands", tags: hundredOperands()},
		{name: "dates", tags: ">2026-01-31&<2026-03-01"},
		{name: "tag and date", tags: "tag101&>2026-01-31"},
		{name: "tag by clicks", list: Query{Order: ClicksFirst}, tags: "tag7"},
		{name: "negation by clicks", list: Query{Order: ClicksFirst}, tags: "~tag7"},
		{name: "negation by clicks, offset 250,000", list: Query{Order: ClicksFirst, Offset: half / 2}, tags: "~tag7"},
		{name: "tag by hash, offset 100,000", list: Query{Order: ByHash, Offset: half / 5}, tags: "tag101"},
		{name: "search, 1 match", list: Query{Search: "/777777"}},
		{name: "search, 1,000 matches", list: Query{Search: "note 777"}},
		{name: "search, no match", list: Query{Search: "nowhere"}},
		{name: "search, three letters", list: Query{Search: "abc"}},
		{name: "search, two letters", list: Query{Search: "zz"}},
		{name: "search, all match", list: Query{Search: "EXAMPLE"}},
		{name: "search, all match, by clicks", list: Query{Search: "EXAMPLE", Order: ClicksFirst}},
		{name: "search in a tag", list: Query{Search: "777"}, tags: "tag77"},
		{name: "two letters in a tag", list: Query{Search: "zz"}, tags: "tag101"},
	} {
		b.Run(list.name, func(b *testing.B) {
			list.list.Account, list.list.Limit = account, 50
			if list.tags != "" {
				var err error
				if list.list.Tags, err = tagexpr.Parse(list.tags); err != nil {
					b.Fatal(err)
				}
			}
			benchmarkList(b, lists, list.list)
		})
	}
}

func benchmarkList(b *testing.B, lists *Reader, list Query) {
	b.Helper()
	benchmarkQuery(b, func() (int64, error) {
		page, err := lists.Links(context.Background(), list)
		return page.Total, err
	})
}

// benchmarkControls measures bare queries of the rows of a table as controls, on the same machine
// and in the same run.
func benchmarkControls(b *testing.B, db *readmodel.DB, account uuid.UUID, table string) {
	b.Helper()
	for name, query := range map[string]string{
		"control, count of all rows": "SELECT count(*) FROM linkledger.? WHERE account_id = ?",
		"control, 50 rows": "SELECT count(*) FROM (SELECT * FROM linkledger.? WHERE account_id = ? ORDER BY " +
			"number DESC LIMIT 50) AS page",
	} {
		b.Run(name, func(b *testing.B) {
			benchmarkQuery(b, func() (rows int64, err error) {
				err = db.NewRaw(query, bun.Ident(table), account).Scan(context.Background(), &rows)
				return rows, err
			})
		})
	}
}

func benchmarkQuery(b *testing.B, run func() (matches int64, err error)) {
	b.Helper()
	var matches int64
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		var err error
		if matches, err = run(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	for name, at := range map[string]int{"p50-ms": len(took) / 2, "p99-ms": len(took) * 99 / 100} {
		b.ReportMetric(float64(took[at])/float64(time.Millisecond), name)
	}
	b.ReportMetric(float64(matches), "matches")
}

// hundredOperands returns an expression with the maximum number of operands.
func hundredOperands() string {
	var expression strings.Builder
	expression.WriteString("~tag0")
	for i := 1; i < tagexpr.MaxOperands; i++ {
		expression.WriteString("^tag" + strconv.Itoa(i))
	}
	return expression.String()
}
