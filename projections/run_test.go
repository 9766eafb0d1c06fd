package projections_test

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
)

func TestRunFollowsTheLog(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	board := &status.Registry{}
	account := w.Account()
	stop := projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Registry: board})

	link, position := w.Link(account, "first")
	progress.Wait(t, position, projections.Links)
	url := events.StreamURL + link.String()
	w.Append(url, events.URLRenamed{From: "first", To: "second", At: logtest.Noon})
	tag := uuid.New().String()
	planned := w.Append(events.StreamAccount+account.String(), events.PlanChanged{Plan: "pro", At: logtest.Noon})
	tagged := w.Append(
		events.StreamTags+account.String(),
		events.TagCreated{TagID: tag, Account: account.String(), Label: "news", At: logtest.Noon},
	)
	w.Append(url, events.URLTagged{Tags: []string{tag}, At: logtest.Noon})
	w.Click("a", link, "v1")
	w.Click("a", link, "v1")
	position = w.Click("b", link, "v2")
	progress.Wait(t, position, projections.Links, projections.Dimensions, projections.Tree)
	progress.Wait(t, tagged, projections.Tags, projections.History)
	progress.Wait(t, planned, projections.Accounts)
	if n := projectionstest.Count(t, db, `SELECT count(*) FROM linkledger.links JOIN linkledger.link_stats s ON s.url_id = id
		JOIN linkledger.tags g ON g.id = ANY(tag_ids)
		WHERE hash = 'second' AND total_clicks = 3 AND unique_clicks = 2 AND label = 'news'`); n != 1 {
		t.Errorf("the expected link was found %d times, want once", n)
	}

	stop()
	w.Append(events.StreamTags+account.String(), events.TagDeleted{TagID: tag, At: logtest.Noon})
	position = w.Append(url, events.URLDeleted{Account: account.String(), Hash: "second", At: logtest.Noon})
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	progress.Wait(t, position, projections.Links)
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.links WHERE deleted_at IS NOT NULL"); n != 1 {
		t.Errorf("%d deleted links, want 1", n)
	}
	for _, s := range board.All() {
		if s.Err != nil || s.Events == 0 {
			t.Errorf("status %+v", s)
		}
	}
}
