package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/readmodel"
)

// followed returns the events of the log that the projection's subscription would deliver.
func (w *workshop) followed(log []eventstore.Recorded) []eventstore.Recorded {
	return slices.DeleteFunc(slices.Clone(log), func(r eventstore.Recorded) bool {
		return !w.projection.Filter.Matches(r)
	})
}

func mustHandle(ctx context.Context, t fatalf, p *projector.Projector, batch []eventstore.Recorded) {
	t.Helper()
	if err := errors.Join(p.Apply(ctx, batchOf(batch)), p.Settle(ctx)); err != nil {
		t.Fatalf("apply a batch of %d: %v", len(batch), err)
	}
}

func batchOf(recorded []eventstore.Recorded) subscription.Batch {
	batch := subscription.Batch{Events: recorded}
	if len(recorded) > 0 {
		batch.Position = recorded[len(recorded)-1].Position
	}
	return batch
}

// TestFold draws histories, delivers them in all ways, and compares the resulting tables with each
// other and with the expected content.
func TestFold(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, name)
			rapid.Check(t, func(t *rapid.T) { w.foldInAllWays(t, drawHistory(t)) })
		})
	}
}

// foldInAllWays delivers a history as one batch, one event at a time, and with deliverBadly.
func (w *workshop) foldInAllWays(t *rapid.T, h *drawnHistory) {
	log := w.followed(h.log)
	ctx := context.Background()

	mustHandle(ctx, t, w.empty(ctx, t), log)
	whole := w.dump(ctx, t)
	h.check(ctx, w)
	w.clear(ctx, t)
	one := w.empty(ctx, t)
	for i := range log {
		mustHandle(ctx, t, one, log[i:i+1])
	}
	if dump := w.dump(ctx, t); dump != whole {
		t.Fatalf("one by one:\n%s\nas one batch:\n%s", dump, whole)
	}
	w.clear(ctx, t)
	for _, bulk := range []bool{false, true} {
		w.deliverBadly(ctx, t, log, bulk)
		if dump := w.dump(ctx, t); dump != whole {
			t.Fatalf("cut and repeated, in bulk %t:\n%s\nas one batch:\n%s", bulk, dump, whole)
		}
		w.clear(ctx, t)
	}
}

// TestGathering checks that a build gathers the events that follow the first one into a batch while
// PostgreSQL blocks the write of the first.
func TestGathering(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, Links)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		log := w.followed(drawHistory(t).log)
		mustHandle(ctx, t, w.empty(ctx, t), log)
		whole := w.dump(ctx, t)
		w.clear(ctx, t)
		w.startOver(ctx, t)
		p := w.projectorWith(ctx, t, inBulk(true))
		err := w.db.RunInTx(ctx, nil, func(_ context.Context, tx bun.Tx) error {
			_, err := tx.NewRaw("SELECT FROM linkledger.generations FOR UPDATE").Exec(ctx)
			for i := range log {
				err = errors.Join(err, p.Apply(ctx, batchOf(log[i:i+1])))
			}
			return err
		})
		if err := errors.Join(err, p.Settle(ctx)); err != nil {
			t.Fatalf("gather: %v", err)
		}
		mustComplete(ctx, t, p)
		if dump := w.dump(ctx, t); dump != whole {
			t.Fatalf("gathered:\n%s\nas one batch:\n%s", dump, whole)
		}
		w.clear(ctx, t)
	})
}

// deliverBadly splits the log at random positions, restarts in between, and delivers applied events
// again, both to a projector that has read the checkpoint and to one that has not.
func (w *workshop) deliverBadly(ctx context.Context, t *rapid.T, log []eventstore.Recorded, bulk bool) {
	w.startOver(ctx, t)
	p := w.projectorWith(ctx, t, inBulk(bulk))
	defer func() {
		if err := p.Settle(ctx); err != nil {
			t.Fatalf("settle: %v", err)
		}
		if p.End(ctx); bulk {
			mustComplete(ctx, t, p)
		}
	}()
	for at := 0; at < len(log); {
		next := rapid.IntRange(at+1, len(log)).Draw(t, "next")
		again := rapid.IntRange(0, at).Draw(t, "again")
		at = next
		if rapid.Bool().Draw(t, "hurry") { // the next batch does not wait for this one
			batch := batchOf(log[again:next])
			batch.Held = w.mayBeHeld(batch.Events) && rapid.Bool().Draw(t, "held")
			if err := p.Apply(ctx, batch); err != nil {
				t.Fatalf("apply a batch of %d: %v", next-again, err)
			}
			continue
		}
		if err := p.Settle(ctx); err != nil {
			t.Fatalf("settle: %v", err)
		}
		stale := w.projector(ctx, t)
		mustHandle(ctx, t, p, log[again:next])
		if err := stale.Apply(ctx, batchOf(log[again:next])); !errors.Is(err, generation.ErrFenced) {
			t.Fatalf("a stale projector got %v", err)
		}
		if rapid.Bool().Draw(t, "restart") {
			p = w.projectorWith(ctx, t, inBulk(bulk))
			mustHandle(ctx, t, p, log[again:next])
		}
		if bulk && rapid.Bool().Draw(t, "complete") { // then it continues live
			mustComplete(ctx, t, p)
		}
	}
}

// mayBeHeld reports whether a subscriber may hold these events back.
func (w *workshop) mayBeHeld(recorded []eventstore.Recorded) bool {
	p := w.projection
	return p.Buffered && (p.NeverAwaited || !slices.ContainsFunc(
		recorded, func(r eventstore.Recorded) bool { return !p.Delayable(r) },
	))
}

// mustComplete completes a generation that was filled in bulk.
func mustComplete(ctx context.Context, t *rapid.T, p *projector.Projector) {
	if err := p.Complete(ctx); err != nil {
		t.Fatalf("complete: %v", err)
	}
}

// check compares the tables with the expected content.
func (h *drawnHistory) check(ctx context.Context, w *workshop) {
	db := w.db.WithNamedArg("schema", bun.Ident(readmodel.GenerationSchema(w.projection.Name, w.generation)))
	switch w.projection.Name {
	case Links:
		h.checkLinks(ctx, db)
		h.checkCounts(ctx, db)
		w.checkSets(ctx, h.t)
		h.checkClicks(ctx, db)
	case Dimensions:
		h.checkDimensions(ctx, db)
	case Tags:
		h.checkTags(ctx, db)
	case Accounts:
		h.checkAccounts(ctx, db)
		h.checkPeople(ctx, db)
	case Activity:
		h.checkActivity(ctx, db)
	case Tree:
		h.checkTree(ctx, db)
	}
}

func (h *drawnHistory) checkLinks(ctx context.Context, db *bun.DB) {
	var rows []readmodel.Link
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.links AS link").Order("position").Scan(
		ctx,
	); err != nil {
		h.t.Fatalf("links: %v", err)
	}
	if len(rows) != len(h.links) {
		h.t.Fatalf("%d links, want %d", len(rows), len(h.links))
	}
	for i, row := range rows {
		want := h.links[i]
		got := fmt.Sprint(
			row.ID, row.AccountID, row.Hash, row.LongURL, row.Note, row.TagIDs, !row.DeletedAt.IsZero(), row.Revision,
		)
		if expected := fmt.Sprint(want.id, want.account.id, want.hash, want.longURL, want.note, want.tags, want.deleted,
			want.revision); got != expected {
			h.t.Fatalf("link\n%s, want\n%s", got, expected)
		}
		var batches []string
		if err := db.NewSelect().TableExpr("?schema.link_batches").Column("batch").Where("url_id = ?", want.id).
			Order("batch").Scan(ctx, &batches); err != nil {
			h.t.Fatalf("batches: %v", err)
		}
		slices.Sort(want.batches)
		if !slices.Equal(batches, want.batches) {
			h.t.Fatalf("link of batches %v, want %v", batches, want.batches)
		}
	}
}

func (h *drawnHistory) checkClicks(ctx context.Context, db *bun.DB) {
	for _, want := range h.links {
		var stats []readmodel.LinkStats
		var days []readmodel.LinkDay
		err := errors.Join(
			db.NewSelect().Model(&stats).ModelTableExpr("?schema.link_stats AS stats").Where(
				"url_id = ?", want.id,
			).Scan(ctx),
			db.NewSelect().Model(&days).ModelTableExpr("?schema.link_days AS day").Where("url_id = ?", want.id).
				OrderExpr("day.day").Scan(ctx))
		if err != nil {
			h.t.Fatalf("clicks: %v", err)
		}
		if len(days) != len(want.days) {
			h.t.Fatalf("days %+v, want %v", days, want.days)
		}
		if !want.visited {
			if len(stats) != 1 || stats[0].Visited || stats[0].TotalClicks != 0 {
				h.t.Fatalf("a link without visits has %v", stats)
			}
			continue
		}
		s := stats[0]
		uniques, visitors := want.uniques()
		if s.TotalClicks != want.clicks || s.UniqueClicks != visitors || !s.Visited || !s.LastVisit.Equal(want.last) {
			h.t.Fatalf("stats %+v, want %d clicks of %d visitors until %s", s, want.clicks, visitors, want.last)
		}
		for _, d := range days {
			day := d.Day.Format("2006-01-02")
			if d.TotalClicks != want.days[day] || d.UniqueClicks != uniques[day] {
				h.t.Fatalf("day %+v, want %d and %d", d, want.days[day], uniques[day])
			}
		}
	}
}

// checkCounts compares the counts of all accounts that have had links.
func (h *drawnHistory) checkCounts(ctx context.Context, db *bun.DB) {
	for _, want := range h.accounts {
		created := int64(0)
		for _, link := range h.links {
			if link.account == want {
				created++
			}
		}
		got := make([]int64, 3)
		err := db.NewRaw(
			"SELECT created, restorations, deletions FROM ?schema.link_tallies WHERE account_id = ?", want.id,
		).
			Scan(ctx, &got[0], &got[1], &got[2])
		if err != nil && (created > 0 || !errors.Is(err, sql.ErrNoRows)) {
			h.t.Fatalf("counts of links: %v", err)
		}
		if expected := []int64{
			created, want.urls + want.deletions - created, want.deletions,
		}; !slices.Equal(got, expected) {
			h.t.Fatalf("created, restored and deleted: %d, want %d", got, expected)
		}
	}
}

func (h *drawnHistory) checkTags(ctx context.Context, db *bun.DB) {
	for _, a := range h.accounts {
		var rows []readmodel.Tag
		if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.tags AS tag").Where("account_id = ?", a.id).
			Order("position").Scan(ctx); err != nil {
			h.t.Fatalf("tags: %v", err)
		}
		if len(rows) != len(a.tags) {
			h.t.Fatalf("%d tags, want %d", len(rows), len(a.tags))
		}
		for i, row := range rows {
			if row.ID != a.tags[i] || row.Label != a.labels[row.ID] {
				h.t.Fatalf("tag %+v, want %s %q", row, a.tags[i], a.labels[a.tags[i]])
			}
		}
	}
}

func (h *drawnHistory) checkAccounts(ctx context.Context, db *bun.DB) {
	for _, want := range h.accounts {
		var row readmodel.Account
		err := db.NewSelect().Model(&row).ModelTableExpr("?schema.accounts AS account").Where("id = ?", want.id).Scan(
			ctx,
		)
		if err != nil {
			h.t.Fatalf("account: %v", err)
		}
		got := fmt.Sprint(row.Username, row.Plan, row.Active)
		if expected := fmt.Sprint("user"+want.id.String(), want.plan, want.active); got != expected {
			h.t.Fatalf("account %s, want %s", got, expected)
		}
		h.checkKeys(ctx, db, want)
		h.checkMembers(ctx, db, want)
		expires := ""
		if row.ExpirationDate != nil {
			expires = row.ExpirationDate.Format(time.DateOnly)
		}
		if expires != want.expires {
			h.t.Fatalf("account expires on %q, want %q", expires, want.expires)
		}
	}
}

func (h *drawnHistory) checkKeys(ctx context.Context, db *bun.DB, account *expectedAccount) {
	var rows []readmodel.AccountKey
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.api_keys AS account_key").
		Where("account_id = ?", account.id).Scan(ctx); err != nil {
		h.t.Fatalf("keys: %v", err)
	}
	if len(rows) != len(account.keys) {
		h.t.Fatalf("%d keys, want %d", len(rows), len(account.keys))
	}
	for _, row := range rows {
		want, expires := account.keys[row.ID], ""
		if row.ExpirationDate != nil {
			expires = row.ExpirationDate.Format(time.DateOnly)
		}
		got := fmt.Sprint(row.Hash, row.Name, row.Scopes, row.Tags, row.Networks, expires, !row.RevokedAt.IsZero())
		if expected := fmt.Sprint(want.hash, want.terms.Name, strings.Join(want.terms.Scopes, " "), want.terms.Tags,
			strings.Join(want.terms.Networks, " "), want.terms.Expires, want.ended); got != expected {
			h.t.Fatalf("key %s, want %s", got, expected)
		}
	}
}

func (h *drawnHistory) checkMembers(ctx context.Context, db *bun.DB, account *expectedAccount) {
	var rows []readmodel.AccountMember
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.account_members AS member").
		Where("account_id = ?", account.id).Scan(ctx); err != nil {
		h.t.Fatalf("members: %v", err)
	}
	if len(rows) != len(account.members) {
		h.t.Fatalf("%d members, want %d", len(rows), len(account.members))
	}
	for _, row := range rows {
		got := expectedMember{row.Role, row.Group, row.Changed, !row.RemovedAt.IsZero()}
		if want := account.members[row.UserID]; want == nil || got != *want {
			h.t.Fatalf("member %+v, want %+v", got, want)
		}
	}
}

func (h *drawnHistory) checkPeople(ctx context.Context, db *bun.DB) {
	var rows []readmodel.Person
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.people AS person").Scan(ctx); err != nil {
		h.t.Fatalf("people: %v", err)
	}
	if len(rows) != len(h.people) {
		h.t.Fatalf("%d people, want %d", len(rows), len(h.people))
	}
	for _, row := range rows {
		i := slices.IndexFunc(h.people, func(p *expectedPerson) bool { return p.id == row.ID })
		if want := *h.people[i]; row.Box != want.box || row.Erased != want.erased {
			h.t.Fatalf("person %+v, want %+v", row, want)
		}
	}
}

// TestOneOfTwoProjectorsApplies checks that a batch is applied once if two projectors at the same
// checkpoint apply it concurrently.
func TestOneOfTwoProjectorsApplies(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Links)
	w.empty(ctx, t)
	link := uuid.New().String()
	var log []eventstore.Recorded
	for i := range 20 {
		log = record(log, events.StreamClicks+"x", eventstore.Revision(i), events.ClicksRecorded{
			Clicks: []events.Click{{URLID: link, Visitor: "v", At: noon}},
		})
		outcomes := make([]error, 2)
		projectors := []*projector.Projector{w.projector(ctx, t), w.projector(ctx, t)}
		var both sync.WaitGroup
		for j, p := range projectors {
			both.Go(func() { outcomes[j] = p.Apply(ctx, batchOf(log[i:])) })
		}
		both.Wait()
		if outcomes[0] == nil == (outcomes[1] == nil) {
			t.Fatalf("both projectors: %v", outcomes)
		}
		if err := errors.Join(outcomes...); !errors.Is(err, generation.ErrFenced) {
			t.Fatal(err)
		}
	}
	if dump := w.dump(ctx, t); !strings.Contains(dump, link+",,,20,1,") {
		t.Errorf("20 clicks of one visitor are\n%s", dump)
	}
}
