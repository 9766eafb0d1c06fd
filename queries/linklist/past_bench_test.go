package linklist

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/asof"
	"linkledger/queries/queriestest"
	"linkledger/tagexpr"
)

// loadHistory creates the history of an account with many links, with five events each. A link is
// created every ten seconds, archived and restored on the following days, and gets a note and a tag
// when all links exist. The rows are in the order of time, as after a build of the projection.
func loadHistory(t testing.TB, db *readmodel.DB, account uuid.UUID, links int) {
	t.Helper()
	load := []string{
		"SET LOCAL statement_timeout = 0; SET LOCAL work_mem = '128MB'",
		`INSERT INTO ?schema.account_clocks VALUES (?account, 0, 0, ?links)`,
		`INSERT INTO ?schema.account_versions VALUES (?account, 0, 'demo', '', true)`,
		`INSERT INTO ?schema.tag_versions SELECT md5('tag' || n)::uuid, 0, ?account, 'tag' || n FROM generate_series(0, 103) n`,
		`CREATE FUNCTION moment(n integer, change integer) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN
			(extract(epoch FROM timestamptz '2026-01-01Z')::bigint + n * 10 + change * (50000 + n * 7919::bigint % 30000)
				+ CASE WHEN change < 3 THEN 0 ELSE ?links * 10::bigint END) * 1000000000`,
		`INSERT INTO ?schema.link_versions
			SELECT ?account, n, moment(n, change), CASE change WHEN 4 THEN 9223372036854775807 ELSE moment(n, change + 1) END,
				md5('link' || n)::uuid, 'h' || left(md5(n::text || 'h'), 12), 'https://www.example.com/articles/' || md5(n::text) || '/' || n,
				CASE WHEN change < 3 THEN '' ELSE 'note ' || n % 1000 END, change = 4, false, n % 100 = 0, change = 1, NULL, 0,
				ARRAY[md5('tag' || n % 100)::uuid, md5('tag' || 100 + n % 4)::uuid], to_timestamp(moment(n, 0) / 1000000000),
				to_timestamp(moment(n, change) / 1000000000), change, NULL
			FROM generate_series(0, ?links - 1) n, generate_series(0, 4) change ORDER BY 3`,
		`INSERT INTO ?schema.text_versions
			SELECT id, since, CASE revision WHEN 0 THEN moment(number, 3) ELSE 9223372036854775807 END, account_id, number, hash,
				convert_to(lower(long_url || E'\n' || note || E'\n' || hash), 'UTF8')
			FROM ?schema.link_versions WHERE revision IN (0, 3) ORDER BY 2`,
		`INSERT INTO ?schema.set_pages
			SELECT ?account, name, block, min(moment), max(moment),
				bit_xor(bit_xor(set_bit(repeat('0', 2048)::bit(2048), number, 1))) OVER (PARTITION BY name, block ORDER BY page),
				array_agg(number ORDER BY nth), array_agg(moment ORDER BY nth)
			FROM (
				SELECT name, block, number, moment, nth, nth / 128 AS page FROM (
					SELECT name, n / 2048 AS block, (n % 2048)::smallint AS number, moment(n, change) AS moment,
						row_number() OVER (PARTITION BY name, n / 2048 ORDER BY moment(n, change)) AS nth
					FROM generate_series(0, ?links - 1) n, LATERAL (VALUES
						('live', 0), ('day:' || to_char(timestamptz '2026-01-01Z' + n * interval '10 s', 'YYYY-MM-DD'), 0),
						('tag:' || md5('tag' || n % 100)::uuid, 0), ('tag:' || md5('tag' || 100 + n % 4)::uuid, 0),
						('archived', 1), ('archived', 2), ('email_stats', 4)) AS sets (name, change)) AS changes) AS placed
			GROUP BY name, block, page`,
	}
	queriestest.FillGeneration(t, db, "history", load, account, links)
}

// BenchmarkPast reads pages as of three times: when half of the links had been created, when all
// had been created but had no note yet, and now.
func BenchmarkPast(b *testing.B) {
	db := queriestest.OpenDatabase(b)
	q, lists, account := queries.New(db), New(db), uuid.New()
	loadHistory(b, db, account, *manyLinks)
	benchmarkControls(b, db, account, "text_versions")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	halfway, created := start.Add(
		time.Duration(*manyLinks/2)*10*time.Second,
	), start.Add(time.Duration(*manyLinks)*10*time.Second)
	for _, at := range []struct {
		name string
		at   time.Time
	}{{"half", halfway}, {"created", created}, {"end", time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		for _, list := range []struct {
			name string
			list Query
			tags string
		}{
			{name: "first page"},
			{name: "offset 400,000", list: Query{Offset: *manyLinks * 4 / 10}},
			{name: "tag of 10,000", tags: "tag7"},
			{name: "tag of 250,000, offset 100,000", list: Query{Offset: *manyLinks / 10}, tags: "tag101"},
			{name: "archived", tags: "archived"},
			{name: "and, or, not, dates", tags: "(+tag8|+tag101)&~protected&>2026-01-31"},
			{name: "by modification", list: Query{Order: ModifiedFirst}},
			{name: "by modification, offset 200,000", list: Query{Order: ModifiedFirst, Offset: *manyLinks / 5}},
			{name: "by hash", list: Query{Order: ByHash}},
			{name: "by hash, offset 200,000", list: Query{Order: ByHash, Offset: *manyLinks / 5}},
			{name: "search, 1 match", list: Query{Search: "/377777"}},
			{name: "search, 1,000 matches", list: Query{Search: "note 777"}},
			{name: "search, three letters", list: Query{Search: "abc"}},
			{name: "search, two letters", list: Query{Search: "e3"}},
			{name: "search, matches everywhere", list: Query{Search: "example"}},
			{name: "search in a tag", list: Query{Search: "777"}, tags: "tag77"},
		} {
			b.Run(at.name+"/"+list.name, func(b *testing.B) {
				list.list.Account, list.list.Limit, list.list.At = account, 50, at.at
				if list.tags != "" {
					var err error
					if list.list.Tags, err = tagexpr.Parse(list.tags); err != nil {
						b.Fatal(err)
					}
				}
				benchmarkList(b, lists, list.list)
			})
		}
		b.Run(at.name+"/one link", func(b *testing.B) {
			for b.Loop() {
				if _, err := q.LinksByNumber(b.Context(), account, []int{0}, asof.At(at.at)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(at.name+"/account", func(b *testing.B) {
			for b.Loop() {
				if _, _, err := q.AccountAt(b.Context(), account, at.at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
