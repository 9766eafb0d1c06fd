package projections

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// drawRights draws a history of accounts, keys, members and people.
func drawRights(t *rapid.T) *drawnHistory {
	h := &drawnHistory{t: t, revisions: make(map[string]eventstore.Revision)}
	h.openAccount()
	steps := []func(){
		h.openAccount, h.changeAccount, h.changeAccount, h.changeAccount, h.changePeople, h.changePeople,
		h.changeMembers, h.changeMembers,
	}
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
	}
	return h
}

// TestRightsEndDespitePoison draws histories with an event that cannot be applied. It checks that no
// key, member, account or person has a right that a later event ends, that the tables are those of
// a replay, and that they are those of an undisturbed run once the event can be applied.
func TestRightsEndDespitePoison(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, Accounts)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		h := drawRights(t)
		log := w.followed(h.log)
		poison := rapid.IntRange(0, len(log)-1).Draw(t, "poison")
		if body, err := log[poison].Event(); err != nil || events.EndsRights(body) {
			return // then what ends the right cannot be applied itself, and its call is answered so
		}
		mustHandle(ctx, t, w.empty(ctx, t), log)
		want := w.dump(ctx, t)
		w.clear(ctx, t)

		w.startOver(ctx, t)
		w.deliver(ctx, t, w.projectorWith(ctx, t, w.poisoning(log[poison].Position, false)), log)
		h.checkRights(ctx, w)
		if found := w.verify(ctx, t, log); found.Different > 0 {
			t.Fatalf("verify finds %+v", found.Differences)
		}
		if _, err := RetryDeadLetters(ctx, w.db, Accounts, ""); err != nil {
			t.Fatal(err)
		}
		if got := w.dump(ctx, t); got != want {
			t.Fatalf("after the retry\n%s, want\n%s", got, want)
		}
		w.clear(ctx, t)
	})
}

// checkRights checks that the tables have no right that has ended.
func (h *drawnHistory) checkRights(ctx context.Context, w *workshop) {
	ended := func(query string, args ...any) {
		var n int
		if err := w.db.NewRaw(query, args...).Scan(ctx, &n); err != nil || n > 0 {
			h.t.Fatalf("%s %v: %d, %v", query, args, n, err)
		}
	}
	for _, a := range h.accounts {
		for id, key := range a.keys {
			if key.ended {
				ended("SELECT count(*) FROM "+w.schema()+
					".api_keys WHERE account_id = ? AND id = ? AND revoked_at IS NULL", a.id, id)
			}
		}
		for user, member := range a.members {
			if member.ended {
				ended("SELECT count(*) FROM "+w.schema()+
					".account_members WHERE account_id = ? AND user_id = ? AND removed_at IS NULL", a.id, user)
			}
		}
		if !a.active {
			ended("SELECT count(*) FROM "+w.schema()+".accounts WHERE id = ? AND active", a.id)
		}
	}
	for _, p := range h.people {
		if p.erased {
			ended("SELECT count(*) FROM "+w.schema()+".people WHERE id = ? AND NOT erased", p.id)
		}
	}
}
