package projections

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events"
	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/readmodeltest"
)

// checkSets compares the tables that serve lists with what the links say.
func (w *workshop) checkSets(ctx context.Context, t fatalf) {
	t.Helper()
	db := w.db.WithNamedArg("schema", bun.Ident(readmodel.GenerationSchema(w.projection.name, w.generation)))
	var wrong []string
	err := db.NewRaw(`
		WITH kept AS (SELECT * FROM ?schema.link_sets WHERE bit_count(bits) > 0), derived AS (`+readmodeltest.Sets+`),
		found AS (SELECT account_id, number, word, text FROM ?schema.link_texts), searched AS (`+readmodeltest.Texts+`)
		SELECT 'kept ' || k::text FROM (TABLE kept EXCEPT TABLE derived) k UNION ALL
		SELECT 'derived ' || d::text FROM (TABLE derived EXCEPT TABLE kept) d UNION ALL
		SELECT 'found ' || f::text FROM (TABLE found EXCEPT TABLE searched) f UNION ALL
		SELECT 'searched ' || s::text FROM (TABLE searched EXCEPT TABLE found) s UNION ALL
		SELECT 'numbers of ' || account_id FROM ?schema.links JOIN ?schema.link_numbers USING (account_id)
			GROUP BY account_id, next HAVING count(*) <> next OR count(DISTINCT number) <> next OR max(number) <> next - 1 UNION ALL
		SELECT 'counters of ' || id FROM ?schema.links AS l LEFT JOIN ?schema.link_stats AS s ON s.url_id = id
			WHERE (s.account_id, s.number) IS DISTINCT FROM (l.account_id, l.number)`).Scan(ctx, &wrong)
	if err != nil || len(wrong) > 0 {
		t.Fatalf("what follows from the links: %v: %s", err, strings.Join(wrong, "\n"))
	}
}

// TestClicksBeforeTheirLink has a link take over the clicks that were counted while it was set aside.
func TestClicksBeforeTheirLink(t *testing.T) {
	t.Parallel()
	ctx, w := withPatience(t), newWorkshop(t, Links)
	p, id := w.empty(ctx, t), uuid.NewString()
	log := record(nil, events.StreamClicks+"x", 0, events.ClicksRecorded{Clicks: []events.Click{{URLID: id, Visitor: "v", At: noon}}})
	log = record(log, events.StreamURL+id, 0, events.URLCreated{
		URLID: id, Account: uuid.NewString(), Hash: "late", LongURL: "https://example.com/", At: noon,
	})
	for i := range log {
		mustHandle(ctx, t, p, log[i:i+1])
	}
	w.checkSets(ctx, t)
	if dump := w.dump(ctx, t); !strings.Contains(dump, ",clicked,0,1") || !strings.Contains(dump, ",visited,0,1") {
		t.Errorf("the link is not in the sets of its clicks:\n%s", dump)
	}
}
