package linklist

import (
	"context"
	"errors"
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

// loadLinks creates an account with many links. Half of them are visited. Each link has one of a
// hundred tags and one of four others.
func loadLinks(t testing.TB, db *readmodel.DB, account uuid.UUID, links int) {
	t.Helper()
	load := []string{
		"SET LOCAL statement_timeout = 0",
		`INSERT INTO linkledger.tags SELECT md5('tag' || n)::uuid, ?account, 'tag' || n, now(), n FROM generate_series(0, 103) n`,
		`INSERT INTO ?schema.links
			SELECT md5('link' || n)::uuid, ?account, n, 'h' || md5(n::text || 'h'),
				'https://www.example.com/articles/' || md5(n::text) || '/' || n,
				'note ' || n % 1000, n % 7 = 0, false, n % 100 = 0, n % 10 = 0, NULL, 0,
				ARRAY[md5('tag' || n % 100)::uuid, md5('tag' || 100 + n % 4)::uuid], timestamptz '2026-01-01Z' + n * interval '10 s',
				timestamptz '2026-01-01Z' + (n::bigint * 7919 % ?links) * interval '10 s', n, 0
			FROM generate_series(0, ?links - 1) n`,
		`INSERT INTO ?schema.link_stats SELECT md5('link' || n)::uuid, ?account, n, CASE WHEN n % 2 = 1 THEN n::bigint * 7907 % 10007 ELSE 0 END,
			n % 2, NULL, n % 2 = 1 FROM generate_series(0, ?links - 1) n`,
	}
	fillGeneration(t, db, "links", load, account, links)
}

// fillGeneration creates a serving generation of a projection from statements that insert the links
// of an account.
func fillGeneration(t testing.TB, db *readmodel.DB, projection string, load []string, account uuid.UUID, links int) {
	t.Helper()
	const generation = 2
	err := db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		if err := readmodel.CreateBareTables(ctx, tx, projection, generation); err != nil {
			return err
		}
		for _, statement := range load {
			if _, err := tx.NewRaw(statement, struct {
				Schema  bun.Ident
				Account uuid.UUID
				Links   int
			}{bun.Ident(readmodel.GenerationSchema(projection, generation)), account, links}).Exec(ctx); err != nil {
				return err
			}
		}
		return readmodel.Serve(ctx, tx, projection, 1, generation)
	})
	for range 2 { // the first may find rows that are too recent
		err = errors.Join(
			err,
			readmodel.Complete(
				t.Context(), db.DB, projection, generation, func(context.Context, bun.Tx) error { return nil },
			),
		)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkLinks reads pages of an account with many links.
func BenchmarkLinks(b *testing.B) {
	db := queriestest.OpenDatabase(b)
	lists, account := New(db), uuid.New()
	loadLinks(b, db, account, *manyLinks)
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
