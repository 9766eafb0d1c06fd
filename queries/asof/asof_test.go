package asof_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/queries/asof"
	"linkledger/queries/queriestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

func TestAt(t *testing.T) {
	t.Parallel()
	if asof.At(time.Time{}) != asof.Now || asof.Now.Past() {
		t.Error("the zero moment is not now")
	}
	noon := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		at    time.Time
		nanos int64
		day   string
	}{
		"noon":     {noon, noon.UnixNano(), "2026-03-31"},
		"midnight": {noon.Add(-12 * time.Hour), noon.Add(-12 * time.Hour).UnixNano(), "2026-03-30"},
		"before":   {time.Unix(-1, 0), -1, "1969-12-31"},
		"epoch":    {time.Unix(0, 0), 0, "1969-12-31"},
		"after":    {noon.AddDate(1000, 0, 0), math.MaxInt64 - 1, "2262-04-11"},
	} {
		then := asof.At(tc.at)
		if got := then.Day().Format(time.DateOnly); !then.Past() || then.Nanoseconds() != tc.nanos || got != tc.day {
			t.Errorf("%s: %+v, the day is %s", name, then, got)
		}
	}
}

// TestPast reads versions of a link that was renamed and modified at 20 and deleted at 30, and of a set.
func TestPast(t *testing.T) {
	t.Parallel()
	w, ctx := queriestest.NewWorld(t), queriestest.WithTimeout(t)
	history := strings.NewReplacer("ACCOUNT", fmt.Sprintf("'%s'::uuid", w.Account)).Replace(`
		INSERT INTO linkledger.account_clocks VALUES (ACCOUNT, 30, 5, 1);
		INSERT INTO linkledger.link_versions (account_id, number, since, until, id, hash, long_url, note, email_stats,
			ping, protected, archived, max_clicks, tag_ids, created_at, modified_at, deleted_at, revision)
			SELECT ACCOUNT, 0, since, until, ACCOUNT, hash, '', '', false, false, false, false, 0, '{}',
				'epoch', 'epoch', deleted, 0
			FROM (VALUES (10, 20, 'old', NULL), (20, 30, 'new', NULL), (30, 9223372036854775807, 'new', 'epoch'))
				AS v (since, until, hash, deleted_text), LATERAL (SELECT deleted_text::timestamptz AS deleted) AS d;
		INSERT INTO linkledger.text_versions
			SELECT ACCOUNT, since, until, ACCOUNT, 0, hash, hash::bytea
			FROM (VALUES (10, 20, 'old'), (20, 30, 'new')) AS v (since, until, hash);
		INSERT INTO linkledger.set_pages VALUES
			(ACCOUNT, 'live', 0, 10, 30, set_bit(repeat('0', 2048)::bit(2048), 2, 1), '{1,2,1}', '{10,20,30}'),
			(ACCOUNT, 'live', 0, 40, 40, repeat('0', 2048)::bit(2048), '{2}', '{40}')`)
	if _, err := w.DB.ExecContext(ctx, history); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]struct {
		hash  string // of the live link
		links int    // also deleted ones
		bits  []int  // of the set
	}{
		9: {"", 0, nil}, 10: {"old", 1, []int{1}}, 19: {"old", 1, []int{1}}, 20: {"new", 1, []int{1, 2}},
		30: {"", 1, []int{2}}, 40: {"", 1, []int{}},
	} {
		then := asof.At(time.Unix(0, at))
		modified, err := then.ByModified(ctx, w.DB, w.Account)
		if err != nil {
			t.Fatal(err)
		}
		var byHash, byModified, texts []string
		for _, err := range []error{
			then.ByHash(w.DB).ColumnExpr("link.hash").Scan(ctx, &byHash),
			modified.ColumnExpr("link.hash").Scan(ctx, &byModified),
			w.DB.NewRaw("SELECT convert_from(text, 'UTF8') FROM "+then.SearchTexts()).Scan(ctx, &texts),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		live := []string{}
		if want.hash != "" {
			live = []string{want.hash}
		}
		for name, got := range map[string][]string{"hash": byHash, "modified": byModified, "texts": texts} {
			if fmt.Sprint(got) != fmt.Sprint(live) {
				t.Errorf("by %s at %d: %q, want %q", name, at, got, live)
			}
		}
		var links int
		var bits []string
		if err := w.DB.NewRaw("SELECT count(*) FROM "+then.Links()+" AS link").Scan(ctx, &links); err != nil {
			t.Fatal(err)
		}
		if err := w.DB.NewRaw("SELECT bits::text FROM "+then.Sets("name = 'live'")).Scan(ctx, &bits); err != nil {
			t.Fatal(err)
		}
		set := []int{}
		for _, page := range bits {
			for i, bit := range page {
				if bit == '1' {
					set = append(set, i)
				}
			}
		}
		if links != want.links || !slices.Equal(set, append([]int{}, want.bits...)) || len(bits) != min(want.links, 1) {
			t.Errorf("at %d: %d links, set %v in %d pages", at, links, set, len(bits))
		}
	}
}

// TestNow checks that the tables of now have the live links.
func TestNow(t *testing.T) {
	t.Parallel()
	w, ctx := queriestest.NewWorld(t), queriestest.WithTimeout(t)
	modified, err := asof.Now.ByModified(ctx, w.DB, w.Account)
	if err != nil {
		t.Fatal(err)
	}
	texts := w.DB.NewSelect().TableExpr(asof.Now.SearchTexts())
	for name, query := range map[string]*bun.SelectQuery{
		"hash": asof.Now.ByHash(w.DB), "modified": modified, "texts": texts,
	} {
		if n, err := query.Count(ctx); err != nil || n != 3 {
			t.Errorf("by %s: %d links, %v; want 3", name, n, err)
		}
	}
	var links, sets int
	if err := w.DB.NewRaw("SELECT count(*) FROM "+asof.Now.Links()).Scan(ctx, &links); err != nil || links != 4 {
		t.Errorf("%d links, %v; want 4 with the deleted one", links, err)
	}
	err = w.DB.NewRaw("SELECT count(*) FROM "+asof.Now.Sets("account_id = ? AND name = 'live'"), w.Account).Scan(ctx, &sets)
	if err != nil || sets != 1 {
		t.Errorf("%d pages of a set, %v", sets, err)
	}
}
