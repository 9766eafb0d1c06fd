package links_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// checkSets compares the tables that are derived for lists with those that Derive computes from the
// links.
func checkSets(ctx context.Context, w *foldtest.Workshop, t projectionstest.T) {
	t.Helper()
	schema := readmodel.GenerationSchema(w.Projection.Name, w.Generation)
	var wrong []string
	errDone := errors.New("done") // rolls the transaction back
	err := w.DB.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		names := struct{ Schema bun.Ident }{bun.Ident(schema)}
		if _, err := tx.NewRaw("CREATE TEMP TABLE stored ON COMMIT DROP AS SELECT * FROM ?schema.link_sets WHERE "+
			"bit_count(bits) > 0",
			names).Exec(ctx); err != nil {
			return err
		}
		if err := readmodel.Derive(ctx, tx, projections.Links, schema); err != nil {
			return err
		}
		if err := tx.NewRaw(`
			SELECT 'stored ' || k::text FROM (TABLE stored EXCEPT TABLE ?schema.link_sets) k UNION ALL
			SELECT 'derived ' || d::text FROM (TABLE ?schema.link_sets EXCEPT TABLE stored) d UNION ALL
			SELECT 'numbers of ' || account_id FROM ?schema.links JOIN ?schema.link_tallies USING (account_id)
				GROUP BY account_id, created
				HAVING count(*) <> created OR count(DISTINCT number) <> created OR max(number) <> created - 1 UNION ALL
			SELECT 'counters of ' || id FROM ?schema.links AS l LEFT JOIN ?schema.link_stats AS s ON s.url_id = id
				WHERE (s.account_id, s.number) IS DISTINCT FROM (l.account_id, l.number)`,
			names).Scan(ctx, &wrong); err != nil {
			return err
		}
		texts, err := wrongTexts(ctx, tx, names)
		if err != nil {
			return err
		}
		wrong = append(wrong, texts...)
		return errDone
	})
	if !errors.Is(err, errDone) || len(wrong) > 0 {
		t.Fatalf("tables derived from the links: %v: %s", err, strings.Join(wrong, "\n"))
	}
}

// wrongTexts returns the search texts that are not those of the live links.
func wrongTexts(ctx context.Context, tx bun.Tx, schema any) (wrong []string, err error) {
	var rows []struct {
		Link          string
		Source, Found *string
	}
	err = tx.NewRaw(`
		SELECT account_id || ' ' || number AS link, l.text AS source, t.text AS found
		FROM (
			SELECT account_id, number, long_url || E'\n' || note || E'\n' || hash AS text
			FROM ?schema.links WHERE deleted_at IS NULL) AS l
		FULL JOIN (
			SELECT account_id, number, linkledger.utf8(text) AS text FROM ?schema.link_texts) AS t
		USING (account_id, number)`, schema).Scan(ctx, &rows)
	for _, row := range rows {
		if row.Source == nil || row.Found == nil || readmodel.SearchText(*row.Source) != *row.Found {
			wrong = append(wrong, "search text of "+row.Link)
		}
	}
	return wrong, err
}

// TestClicksBeforeTheirLink checks that a link takes over the clicks that were counted before its
// creation was applied.
func TestClicksBeforeTheirLink(t *testing.T) {
	t.Parallel()
	ctx, w := projectionstest.Context(t), foldtest.New(t, projections.Links)
	p, id := w.Empty(ctx, t), uuid.NewString()
	log := logtest.Record(
		nil, events.StreamClicks+"x", 0,
		events.ClicksRecorded{Clicks: []events.Click{{URLID: id, Visitor: "v", At: logtest.Noon}}},
	)
	log = logtest.Record(log, events.StreamURL+id, 0, events.URLCreated{
		URLID: id, Account: uuid.NewString(), Hash: "late", LongURL: "https://example.com/", At: logtest.Noon,
	})
	for i := range log {
		foldtest.Apply(ctx, t, p, log[i:i+1])
	}
	checkSets(ctx, w, t)
	if dump := w.Dump(ctx, t); !strings.Contains(dump, ",clicked,0,1") || !strings.Contains(dump, ",visited,0,1") {
		t.Errorf("the link is not in the sets of its clicks:\n%s", dump)
	}
}

// manyCreated is the number of new links in a batch from which their rows are written with COPY.
const manyCreated = 32

// TestManyNewLinks creates enough links for COPY, and deletes one of them and an older one in the
// same batch. Their notes have letters whose lower case may differ in PostgreSQL.
func TestManyNewLinks(t *testing.T) {
	t.Parallel()
	ctx, w := projectionstest.Context(t), foldtest.New(t, projections.Links)
	p, account := w.Empty(ctx, t), uuid.NewString()
	var log []eventstore.Recorded
	var urls []string
	create := func(n int) {
		for range n {
			urls = append(urls, uuid.NewString())
			at := strconv.Itoa(len(urls))
			log = logtest.Record(log, events.StreamURL+urls[len(urls)-1], 0, events.URLCreated{
				URLID: urls[len(urls)-1], Account: account, Hash: "h" + at, LongURL: "https://example.com/" + at,
				Note: "GRÜSSE " + at, At: logtest.Noon,
			})
		}
	}
	create(2)
	foldtest.Apply(ctx, t, p, log)
	before := len(log)
	log = logtest.Record(log, events.StreamURL+urls[0], 1, events.URLDeleted{Account: account, Hash: "h1", At: logtest.Noon})
	create(manyCreated)
	log = logtest.Record(log, events.StreamURL+urls[5], 1, events.URLDeleted{Account: account, Hash: "h6", At: logtest.Noon})
	foldtest.Apply(ctx, t, p, log[before:])
	checkSets(ctx, w, t)
	schema := readmodel.GenerationSchema(projections.Links, w.Generation)
	if n := projectionstest.Count(t, w.DB, "SELECT count(*) FROM ?.links", bun.Ident(schema)); n != manyCreated+2 {
		t.Errorf("%d links, want %d", n, manyCreated+2)
	}
	if n := projectionstest.Count(
		t, w.DB, "SELECT count(*) FROM ?.link_texts WHERE linkledger.utf8(text) LIKE '%grüsse%'", bun.Ident(schema),
	); n != manyCreated {
		t.Errorf("%d texts, want %d", n, manyCreated)
	}
}
