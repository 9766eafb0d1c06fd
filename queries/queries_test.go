package queries

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/readmodel"
	"linkledger/queries/queriestest"
)

func (w *world) fullLink() Link {
	visit := queriestest.Noon
	return Link{
		ID: w.Full.ID, Account: w.Account, Hash: "full", LongURL: "https://example.com/?a='b'", Note: `n"o\te`,
		Settings: events.Settings{
			EmailStats: true, Ping: true, Protected: true, Archived: true, ExpirationDate: "2027-01-31", MaxClicks: 9,
		},
		Tags: []string{"News", "Old"}, TotalClicks: 5, UniqueClicks: 2, LastVisit: &visit, Visited: true,
		CreatedAt: queriestest.Noon, ModifiedAt: queriestest.Noon.Add(time.Hour), Revision: 4,
	}
}

func (w *world) bareLink() Link {
	return Link{
		ID: w.Bare.ID, Account: w.Account, Hash: "bare", LongURL: "https://example.com/", Tags: []string{},
		CreatedAt: queriestest.Noon, ModifiedAt: queriestest.Noon,
	}
}

func TestLinkByHash(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	full, err := w.q.LinkByHash(ctx, w.Account, "full")
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, full, w.fullLink())
	bare, err := w.q.LinkByHash(ctx, w.Account, "bare")
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, bare, w.bareLink())
	for _, hash := range []string{"gone", "foreign", "FULL", "none", "", "fu\x00ll", "' OR true --"} {
		if link, err := w.q.LinkByHash(ctx, w.Account, hash); !errors.Is(err, ErrNotFound) {
			t.Errorf("hash %q: %+v, %v", hash, link, err)
		}
	}
}

func TestLinksByID(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	links, err := w.q.LinksByID(ctx, []uuid.UUID{w.Full.ID, w.Bare.ID, w.Deleted.ID, uuid.New()})
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, links, map[uuid.UUID]Link{w.Full.ID: w.fullLink(), w.Bare.ID: w.bareLink()})
	if links, err := w.q.LinksByID(ctx, nil); err != nil || len(links) != 0 {
		t.Errorf("no ids: %v, %v", links, err)
	}
}

func TestLinksByLongURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range maxPerLongURL + 2 {
		more := w.Bare
		more.ID, more.Hash, more.Number, more.Position = uuid.New(), fmt.Sprint("more", i), 30+i, int64(30+i)
		queriestest.Insert(t, w.DB, &more)
	}
	found, err := w.q.LinksByLongURL(queriestest.WithTimeout(t), w.Account, []string{
		w.Full.LongURL, w.Bare.LongURL, w.Bare.LongURL, "https://EXAMPLE.com/", "NUL\x00",
	})
	if err != nil {
		t.Fatal(err)
	}
	if bare := found[w.Bare.LongURL]; len(bare) != maxPerLongURL || bare[0] != w.Bare.ID {
		t.Errorf("%d links, the oldest %v", len(bare), bare)
	}
	if full := found[w.Full.LongURL]; len(full) != 1 || full[0] != w.Full.ID || len(found) != 2 {
		t.Errorf("found %v", found)
	}
	if none, err := w.q.LinksByLongURL(
		queriestest.WithTimeout(t), uuid.New(), []string{w.Bare.LongURL},
	); len(none) != 0 || err != nil {
		t.Errorf("of another account: %v, %v", none, err)
	}
}

func TestStatsByHash(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	stats, err := w.q.StatsByHash(ctx, w.Account, "full")
	if err != nil {
		t.Fatal(err)
	}
	visit := queriestest.Noon
	queriestest.EqualJSON(t, stats, Stats{
		URLID: w.Full.ID, Hash: "full", TotalClicks: 5, UniqueClicks: 2, LastVisit: &visit,
		Daily: []Day{{"2026-03-30", 3, 2}, {"2026-03-31", 2, 0}},
	})
	if stats, err = w.q.StatsByHash(ctx, w.Account, "bare"); err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, stats, Stats{URLID: w.Bare.ID, Hash: "bare", Daily: []Day{}})
	for _, hash := range []string{"gone", "foreign", "none", "\x00"} {
		if _, err := w.q.StatsByHash(ctx, w.Account, hash); !errors.Is(err, ErrNotFound) {
			t.Errorf("stats of %q: %v", hash, err)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	tags, err := w.q.Tags(ctx, w.Account)
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, tags, []Tag{{w.Old.ID, "Old", queriestest.Noon}, {w.News.ID, "News", queriestest.Noon}})
	if tags, err = w.q.Tags(ctx, uuid.New()); err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, tags, []Tag{})
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	again := w.Deleted
	again.ID, again.LongURL, again.DeletedAt, again.Position = uuid.New(), "later", queriestest.Noon.Add(
		time.Minute,
	), 19
	orphan := w.Bare
	orphan.ID, orphan.AccountID, orphan.Hash = uuid.New(), uuid.New(), "orphan"
	queriestest.Insert(t, w.DB, &again, &orphan)
	for hash, want := range map[string]Redirect{
		"full": {
			URLID: w.Full.ID, Owner: w.Account, LongURL: w.Full.LongURL, ExpirationDate: "2027-01-31", MaxClicks: 9,
			TotalClicks: 5, OwnerActive: true,
		},
		"bare":    {URLID: w.Bare.ID, Owner: w.Account, LongURL: w.Bare.LongURL, OwnerActive: true},
		"foreign": {URLID: w.Foreign.ID, Owner: w.Other, LongURL: w.Foreign.LongURL},
		"gone":    {URLID: again.ID, Owner: w.Account, LongURL: "later", Deleted: true, OwnerActive: true},
		"orphan":  {URLID: orphan.ID, Owner: orphan.AccountID, LongURL: orphan.LongURL, OwnerActive: true},
	} {
		target, err := w.q.Redirect(ctx, hash)
		if err != nil {
			t.Fatalf("%s: %v", hash, err)
		}
		queriestest.EqualJSON(t, target, want)
	}
	// If the owner creates the hash again, the live link is found.
	live := w.Bare
	live.ID, live.Hash, live.LongURL, live.Number, live.Position = uuid.New(), "gone", "live", 1, 1
	queriestest.Insert(t, w.DB, &live)
	if target, err := w.q.Redirect(ctx, "gone"); err != nil || target.URLID != live.ID || target.Deleted {
		t.Errorf("redirect of a hash with a live and a deleted link: %+v, %v", target, err)
	}
	for _, hash := range []string{"none", "", "\x00"} {
		if _, err := w.q.Redirect(ctx, hash); !errors.Is(err, ErrNotFound) {
			t.Errorf("redirect of %q: %v", hash, err)
		}
	}
}

// TestPagesUseTheIndex checks that neither a redirect nor a page at the end of a list reads every
// link.
func TestPagesUseTheIndex(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	if _, err := w.DB.NewRaw(`INSERT INTO linkledger.links
		SELECT gen_random_uuid(), ?, n, 'x' || n, 'u', '', false, false, false, false, NULL, 0, '{}', now(), now(), n, 0
		FROM generate_series(100, ?) n; ANALYZE links_g1.links`, w.Account, 20_000).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	for query, index := range map[string]string{
		fmt.Sprintf(`SELECT number FROM linkledger.links WHERE account_id = '%s' AND deleted_at IS NULL
			ORDER BY modified_at DESC, number DESC OFFSET 9000 LIMIT 50`, w.Account): "links_modified",
		fmt.Sprintf(`SELECT number FROM linkledger.links WHERE account_id = '%s' AND deleted_at IS NULL
			ORDER BY hash, number OFFSET 9000 LIMIT 50`, w.Account): "links_hashes",
		fmt.Sprintf(`SELECT id FROM linkledger.links WHERE account_id = '%s' AND deleted_at IS NULL
			AND number = ANY('{7,777,7777}')`, w.Account): "links_number",
		`SELECT id FROM linkledger.links WHERE hash = 'x77'`: "links_hash",
	} {
		var plan []string
		if err := w.DB.NewRaw("EXPLAIN "+query).Scan(ctx, &plan); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(plan); !strings.Contains(text, index) || strings.Contains(text, "Sort") {
			t.Errorf("%s\nis planned without the index %s: %s", query, index, text)
		}
	}
}

func TestOutageIsNoAbsence(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	queriestest.Insert(
		t, w.DB, &readmodel.Tag{ID: uuid.New(), AccountID: w.Account, Label: "x", CreatedAt: queriestest.Noon},
	)
	if _, err := w.DB.ExecContext(ctx, "DROP SCHEMA linkledger CASCADE"); err != nil {
		t.Fatal(err)
	}
	_, byHash := w.q.LinkByHash(ctx, w.Account, "full")
	_, byID := w.q.LinksByID(ctx, []uuid.UUID{w.Full.ID})
	_, stats := w.q.StatsByHash(ctx, w.Account, "full")
	_, tags := w.q.Tags(ctx, w.Account)
	_, user := w.q.AccountByUsername(ctx, "demo")
	_, accounts := w.q.Accounts(ctx)
	_, counters := w.q.AccountCounters(ctx, w.Account, queriestest.Noon)
	_, redirect := w.q.Redirect(ctx, "full")
	for i, err := range []error{byHash, byID, stats, tags, user, accounts, counters, redirect} {
		if err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("query %d without a database: %v", i, err)
		}
	}
}
