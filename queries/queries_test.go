package queries

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
)

// same compares by JSON, in which pointers and zones don't matter.
func same(t *testing.T, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("got\n%s, want\n%s", g, w)
	}
}

func (w *world) fullLink() Link {
	visit := noon
	return Link{
		ID: w.full.ID, Account: w.account, Hash: "full", LongURL: "https://example.com/?a='b'", Note: `n"o\te`,
		EmailStats: true, Ping: true, Protected: true, Archived: true, ExpirationDate: "2027-01-31", MaxClicks: 9,
		Tags: []string{"News", "Old"}, TotalClicks: 5, UniqueClicks: 2, LastVisit: &visit, Visited: true,
		CreatedAt: noon, ModifiedAt: noon.Add(time.Hour), Revision: 4,
	}
}

func (w *world) bareLink() Link {
	return Link{
		ID: w.bare.ID, Account: w.account, Hash: "bare", LongURL: "https://example.com/", Tags: []string{},
		CreatedAt: noon, ModifiedAt: noon,
	}
}

func TestLinkByHash(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	full, err := w.q.LinkByHash(ctx, w.account, "full")
	if err != nil {
		t.Fatal(err)
	}
	same(t, full, w.fullLink())
	bare, err := w.q.LinkByHash(ctx, w.account, "bare")
	if err != nil {
		t.Fatal(err)
	}
	same(t, bare, w.bareLink())
	for _, hash := range []string{"gone", "foreign", "FULL", "none", "", "fu\x00ll", "' OR true --"} {
		if link, err := w.q.LinkByHash(ctx, w.account, hash); !errors.Is(err, ErrNotFound) {
			t.Errorf("hash %q: %+v, %v", hash, link, err)
		}
	}
}

func TestLinksByID(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	links, err := w.q.LinksByID(ctx, []uuid.UUID{w.full.ID, w.bare.ID, w.deleted.ID, uuid.New()})
	if err != nil {
		t.Fatal(err)
	}
	same(t, links, map[uuid.UUID]Link{w.full.ID: w.fullLink(), w.bare.ID: w.bareLink()})
	if links, err := w.q.LinksByID(ctx, nil); err != nil || len(links) != 0 {
		t.Errorf("no ids: %v, %v", links, err)
	}
}

func TestLinksByLongURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range maxEqual + 2 {
		more := w.bare
		more.ID, more.Hash, more.Number, more.Position = uuid.New(), fmt.Sprint("more", i), 30+i, int64(30+i)
		insert(t, w.db, &more)
	}
	found, err := w.q.LinksByLongURL(withPatience(t), w.account, []string{
		w.full.LongURL, w.bare.LongURL, w.bare.LongURL, "https://EXAMPLE.com/", "NUL\x00",
	})
	if err != nil {
		t.Fatal(err)
	}
	if bare := found[w.bare.LongURL]; len(bare) != maxEqual || bare[0] != w.bare.ID {
		t.Errorf("%d links, the oldest %v", len(bare), bare)
	}
	if full := found[w.full.LongURL]; len(full) != 1 || full[0] != w.full.ID || len(found) != 2 {
		t.Errorf("found %v", found)
	}
	if none, err := w.q.LinksByLongURL(withPatience(t), uuid.New(), []string{w.bare.LongURL}); len(none) != 0 || err != nil {
		t.Errorf("of another account: %v, %v", none, err)
	}
}

func TestLinksPages(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	for _, tc := range []struct {
		offset, limit int
		want          []Link
	}{
		{0, 50, []Link{w.bareLink(), w.fullLink()}},
		{0, 1, []Link{w.bareLink()}},
		{1, 1, []Link{w.fullLink()}},
		{2, 1, []Link{}},
		{0, 0, []Link{}},
	} {
		page, err := w.q.Links(ctx, ListLinks{Account: w.account, Offset: tc.offset, Limit: tc.limit})
		if err != nil {
			t.Fatal(err)
		}
		same(t, page, Page{Links: tc.want, Total: 2})
	}
	page, err := w.q.Links(ctx, ListLinks{Account: uuid.New(), Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	same(t, page, Page{Links: []Link{}})
}

func TestStatsByHash(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	stats, err := w.q.StatsByHash(ctx, w.account, "full")
	if err != nil {
		t.Fatal(err)
	}
	visit := noon
	same(t, stats, Stats{
		URLID: w.full.ID, Hash: "full", TotalClicks: 5, UniqueClicks: 2, LastVisit: &visit,
		Daily: []Day{{"2026-03-30", 3, 2}, {"2026-03-31", 2, 0}},
	})
	if stats, err = w.q.StatsByHash(ctx, w.account, "bare"); err != nil {
		t.Fatal(err)
	}
	same(t, stats, Stats{URLID: w.bare.ID, Hash: "bare", Daily: []Day{}})
	for _, hash := range []string{"gone", "foreign", "none", "\x00"} {
		if _, err := w.q.StatsByHash(ctx, w.account, hash); !errors.Is(err, ErrNotFound) {
			t.Errorf("stats of %q: %v", hash, err)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	tags, err := w.q.Tags(ctx, w.account)
	if err != nil {
		t.Fatal(err)
	}
	same(t, tags, []Tag{{w.old.ID, "Old", noon}, {w.news.ID, "News", noon}})
	if tags, err = w.q.Tags(ctx, uuid.New()); err != nil {
		t.Fatal(err)
	}
	same(t, tags, []Tag{})
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	demo := Account{ID: w.account, Username: "demo", Plan: "free", KeyID: "k1", KeyHash: "abc", Active: true, CreatedAt: noon}
	other := Account{ID: w.other, Username: "Demo", Plan: "free", KeyID: "k2", KeyHash: "def", CreatedAt: noon}
	account, err := w.q.AccountByUsername(ctx, "demo")
	if err != nil {
		t.Fatal(err)
	}
	same(t, account, demo)
	accounts, err := w.q.Accounts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	same(t, accounts, []Account{other, demo})
	for _, username := range []string{"none", "DEMO", "", "demo\x00"} {
		if _, err := w.q.AccountByUsername(ctx, username); !errors.Is(err, ErrNotFound) {
			t.Errorf("user name %q: %v", username, err)
		}
	}
}

func TestAccountCounters(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	elsewhere := time.FixedZone("", -5*3600)
	for _, tc := range []struct {
		now   time.Time
		month int64
	}{
		{noon, 3},
		{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 3},
		{time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), 0},
		{time.Date(2026, 3, 31, 20, 0, 0, 0, elsewhere), 0}, // April in UTC
	} {
		counters, err := w.q.AccountCounters(ctx, w.account, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		same(t, counters, Counters{URLs: 2, MonthURLs: tc.month})
		existing, err := w.q.Existing(ctx, w.account.String(), tc.now)
		if err != nil {
			t.Fatal(err)
		}
		same(t, existing, Existing{Created: 4, Deleted: 2, Month: tc.month})
	}
	if counters, err := w.q.AccountCounters(ctx, w.other, noon); err != nil || counters != (Counters{MonthURLs: 1}) {
		t.Errorf("without a tally: %+v, %v", counters, err)
	}
	if _, err := w.q.AccountCounters(ctx, uuid.New(), noon); !errors.Is(err, ErrNotFound) {
		t.Errorf("counters of nobody: %v", err)
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	again := w.deleted
	again.ID, again.LongURL, again.DeletedAt, again.Position = uuid.New(), "later", noon.Add(time.Minute), 19
	orphan := w.bare
	orphan.ID, orphan.AccountID, orphan.Hash = uuid.New(), uuid.New(), "orphan"
	insert(t, w.db, &again, &orphan)
	for hash, want := range map[string]Target{
		"full": {
			URLID: w.full.ID, Owner: w.account, LongURL: w.full.LongURL, ExpirationDate: "2027-01-31", MaxClicks: 9, TotalClicks: 5, OwnerActive: true,
		},
		"bare":    {URLID: w.bare.ID, Owner: w.account, LongURL: w.bare.LongURL, OwnerActive: true},
		"foreign": {URLID: w.foreign.ID, Owner: w.other, LongURL: w.foreign.LongURL},
		"gone":    {URLID: again.ID, Owner: w.account, LongURL: "later", Deleted: true, OwnerActive: true},
		"orphan":  {URLID: orphan.ID, Owner: orphan.AccountID, LongURL: orphan.LongURL, OwnerActive: true},
	} {
		target, err := w.q.Target(ctx, hash)
		if err != nil {
			t.Fatalf("%s: %v", hash, err)
		}
		same(t, target, want)
	}
	// Created again by its owner: the live one counts.
	live := w.bare
	live.ID, live.Hash, live.LongURL, live.Number, live.Position = uuid.New(), "gone", "live", 1, 1
	insert(t, w.db, &live)
	if target, err := w.q.Target(ctx, "gone"); err != nil || target.URLID != live.ID || target.Deleted {
		t.Errorf("of a live and a deleted link: %+v, %v", target, err)
	}
	for _, hash := range []string{"none", "", "\x00"} {
		if _, err := w.q.Target(ctx, hash); !errors.Is(err, ErrNotFound) {
			t.Errorf("target of %q: %v", hash, err)
		}
	}
}

// TestPagesUseTheIndex sees that neither a redirect nor a page deep down looks at every link.
func TestPagesUseTheIndex(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	if _, err := w.db.NewRaw(`INSERT INTO linkledger.links
		SELECT gen_random_uuid(), ?, n, 'x' || n, 'u', '', false, false, false, false, NULL, 0, '{}', now(), now(), n, 0
		FROM generate_series(100, ?) n; ANALYZE links_g1.links`, w.account, 20_000).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	for query, index := range map[string]string{
		fmt.Sprintf(`SELECT number FROM linkledger.links WHERE account_id = '%s' AND deleted_at IS NULL
			ORDER BY modified_at DESC, number DESC OFFSET 9000 LIMIT 50`, w.account): "links_modified",
		fmt.Sprintf(`SELECT number FROM linkledger.links WHERE account_id = '%s' AND deleted_at IS NULL
			ORDER BY hash, number OFFSET 9000 LIMIT 50`, w.account): "links_hashes",
		fmt.Sprintf(`SELECT id FROM linkledger.links WHERE account_id = '%s' AND deleted_at IS NULL
			AND number = ANY('{7,777,7777}')`, w.account): "links_number",
		`SELECT id FROM linkledger.links WHERE hash = 'x77'`: "links_hash",
	} {
		var plan []string
		if err := w.db.NewRaw("EXPLAIN "+query).Scan(ctx, &plan); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(plan); !strings.Contains(text, index) || strings.Contains(text, "Sort") {
			t.Errorf("%s\nis planned without %s: %s", query, index, text)
		}
	}
}

func TestOutageIsNoAbsence(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	insert(t, w.db, &readmodel.Tag{ID: uuid.New(), AccountID: w.account, Label: "x", CreatedAt: noon})
	if _, err := w.db.ExecContext(ctx, "DROP SCHEMA linkledger CASCADE"); err != nil {
		t.Fatal(err)
	}
	_, byHash := w.q.LinkByHash(ctx, w.account, "full")
	_, byID := w.q.LinksByID(ctx, []uuid.UUID{w.full.ID})
	_, page := w.q.Links(ctx, ListLinks{Account: w.account, Limit: 1})
	_, stats := w.q.StatsByHash(ctx, w.account, "full")
	_, tags := w.q.Tags(ctx, w.account)
	_, user := w.q.AccountByUsername(ctx, "demo")
	_, accounts := w.q.Accounts(ctx)
	_, counters := w.q.AccountCounters(ctx, w.account, noon)
	_, target := w.q.Target(ctx, "full")
	for i, err := range []error{byHash, byID, page, stats, tags, user, accounts, counters, target} {
		if err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("question %d without a database: %v", i, err)
		}
	}
}
