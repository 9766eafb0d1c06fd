package queries

import (
	"context"
	"flag"
	"testing"

	"github.com/google/uuid"

	"linkledger/queries/tagexpr"
)

var manyLinks = flag.Int("links", 1_000_000, "links of the account in BenchmarkLinks")

// BenchmarkLinks asks for pages of an account with many links. Half of the links are visited; every link has one of a
// hundred tags, every second one another of two.
func BenchmarkLinks(b *testing.B) {
	db := openDatabase(b)
	q, account := New(db), uuid.New()
	conn, err := db.Pool.Acquire(b.Context()) // one, for its settings
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Release()
	for _, statement := range []string{
		"SET statement_timeout = 0",
		"DROP INDEX links_g1.links_search, links_g1.links_tags",
		`INSERT INTO linkledger.tags SELECT md5('tag' || n)::uuid, '` + account.String() + `', 'tag' || n, now(), n
			FROM generate_series(0, 102) n`,
		`INSERT INTO linkledger.accounts VALUES ('` + account.String() + `', 'big', 'free', 'k', 'h', true, now(), ?links)`,
		`INSERT INTO linkledger.links
			SELECT md5('link' || n)::uuid, '` + account.String() + `', 'h' || n, 'https://www.example.com/articles/' || md5(n::text) || '/' || n,
				'note ' || n % 1000, n % 7 = 0, false, n % 100 = 0, n % 10 = 0, NULL, 0,
				ARRAY[md5('tag' || n % 100)::uuid, md5('tag' || 100 + n % 4)::uuid], timestamptz '2026-01-01' + n * interval '10 s',
				timestamptz '2026-01-01' + (n::bigint * 7919 % ?links) * interval '10 s', n, 0
			FROM generate_series(1, ?links) n`,
		`INSERT INTO linkledger.link_stats SELECT md5('link' || n)::uuid, n::bigint * 7907 % 10007, 1, now(), true
			FROM generate_series(1, ?links, 2) n`,
		`CREATE INDEX links_search ON links_g1.links USING gin ((long_url || E'\n' || note || E'\n' || hash COLLATE "default") gin_trgm_ops)
			WHERE deleted_at IS NULL`,
		"CREATE INDEX links_tags ON links_g1.links USING gin (tag_ids) WHERE deleted_at IS NULL",
		"VACUUM ANALYZE links_g1.links", "VACUUM ANALYZE links_g1.link_stats",
	} {
		if _, err := conn.Exec(b.Context(), db.WithNamedArg("links", *manyLinks).QueryGen().FormatQuery(statement)); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	for _, list := range []struct {
		name string
		list ListLinks
		tags string
	}{
		{name: "first page"},
		{name: "offset 500,000", list: ListLinks{Offset: *manyLinks / 2}},
		{name: "oldest first", list: ListLinks{Reverse: true}},
		{name: "by modification", list: ListLinks{Order: ModifiedFirst}},
		{name: "by clicks", list: ListLinks{Order: ClicksFirst}},
		{name: "by hash", list: ListLinks{Order: ByHash}},
		{name: "search, 1 match", list: ListLinks{Search: "/777777"}},
		{name: "search, 1,000 matches", list: ListLinks{Search: "note 777"}},
		{name: "search, no match", list: ListLinks{Search: "nowhere"}},
		{name: "search, all match", list: ListLinks{Search: "EXAMPLE"}},
		{name: "search, two letters", list: ListLinks{Search: "zz"}},
		{name: "tag of 10,000", tags: "tag7"},
		{name: "two tags", tags: "+tag8&+tag100"},
		{name: "expression", tags: "(+tag8|+tag9)&~protected&visited"},
		{name: "tag of 250,000", tags: "tag101"},
		{name: "negation", tags: "~tag7"},
		{name: "search in a tag", list: ListLinks{Search: "777"}, tags: "tag77"},
	} {
		b.Run(list.name, func(b *testing.B) {
			list.list.Account, list.list.Limit = account, 50
			if list.tags != "" {
				var err error
				if list.list.Tags, err = tagexpr.Parse(list.tags); err != nil {
					b.Fatal(err)
				}
			}
			var page Page
			for b.Loop() {
				var err error
				if page, err = q.Links(context.Background(), list.list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(page.Total), "matches")
		})
	}
}
