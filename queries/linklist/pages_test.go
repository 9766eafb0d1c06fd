package linklist

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/queries"
	"linkledger/queries/queriestest"
)

func (w *world) fullLink() queries.Link {
	visit := queriestest.Noon
	return queries.Link{
		ID: w.Full.ID, Account: w.Account, Hash: "full", LongURL: "https://example.com/?a='b'", Note: `n"o\te`,
		Settings: events.Settings{
			EmailStats: true, Ping: true, Protected: true, Archived: true, ExpirationDate: "2027-01-31", MaxClicks: 9,
		},
		Tags: []string{"News", "Old"}, TotalClicks: 5, UniqueClicks: 2, LastVisit: &visit, Visited: true,
		CreatedAt: queriestest.Noon, ModifiedAt: queriestest.Noon.Add(time.Hour), Revision: 4,
	}
}

func (w *world) bareLink() queries.Link {
	return queries.Link{
		ID: w.Bare.ID, Account: w.Account, Hash: "bare", LongURL: "https://example.com/", Tags: []string{},
		CreatedAt: queriestest.Noon, ModifiedAt: queriestest.Noon,
	}
}

func TestLinksPages(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	for _, tc := range []struct {
		offset, limit int
		want          []queries.Link
	}{
		{0, 50, []queries.Link{w.bareLink(), w.fullLink()}},
		{0, 1, []queries.Link{w.bareLink()}},
		{1, 1, []queries.Link{w.fullLink()}},
		{2, 1, []queries.Link{}},
		{0, 0, []queries.Link{}},
	} {
		page, err := w.lists.Links(ctx, Query{Owner: Owner{Account: w.Account}, Offset: tc.offset, Limit: tc.limit})
		if err != nil {
			t.Fatal(err)
		}
		queriestest.EqualJSON(t, page, Page{Links: tc.want, Total: 2})
	}
	page, err := w.lists.Links(ctx, Query{Owner: Owner{Account: uuid.New()}, Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, page, Page{Links: []queries.Link{}})
}

func TestOutageIsNoAbsence(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	if _, err := w.DB.ExecContext(ctx, "DROP SCHEMA linkledger CASCADE"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.lists.Links(ctx, Query{Owner: Owner{Account: w.Account}, Limit: 1}); err == nil ||
		errors.Is(err, queries.ErrNotFound) {
		t.Errorf("a list without a database: %v", err)
	}
}
