package accounts_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/readmodel"
)

// drawRights draws a history of accounts, keys, members and people.
func drawRights(t *rapid.T) *logtest.History {
	h := logtest.New(t, readmodel.MaxValues)
	steps := []func(){
		h.OpenAccount, h.ChangeAccount, h.ChangeAccount, h.ChangeAccount, h.ChangePeople, h.ChangePeople,
		h.ChangeMembers, h.ChangeMembers,
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
	w := foldtest.New(t, projections.Accounts)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		h := drawRights(t)
		log := w.Followed(h.Log)
		poison := rapid.IntRange(0, len(log)-1).Draw(t, "poison")
		if body, err := log[poison].Event(); err != nil || events.EndsRights(body) {
			return // then what ends the right cannot be applied itself, and its call is answered so
		}
		foldtest.Apply(ctx, t, w.Empty(ctx, t), log)
		want := w.Dump(ctx, t)
		w.Clear(ctx, t)

		w.StartOver(ctx, t)
		foldtest.Deliver(ctx, t, w.Projector(ctx, t, w.Poisoning(log[poison].Position, false)), log)
		checkRights(ctx, h, w)
		if found := w.Verify(ctx, t, log); found.Different > 0 {
			t.Fatalf("verify finds %+v", found.Differences)
		}
		if _, err := deadletter.Retry(ctx, w.DB, w.Projection); err != nil {
			t.Fatal(err)
		}
		if got := w.Dump(ctx, t); got != want {
			t.Fatalf("after the retry\n%s, want\n%s", got, want)
		}
		w.Clear(ctx, t)
	})
}

// checkRights checks that the tables have no right that has ended.
func checkRights(ctx context.Context, h *logtest.History, w *foldtest.Workshop) {
	ended := func(query string, args ...any) {
		var n int
		if err := w.DB.NewRaw(query, args...).Scan(ctx, &n); err != nil || n > 0 {
			h.T.Fatalf("%s %v: %d, %v", query, args, n, err)
		}
	}
	for _, a := range h.Accounts {
		for id, key := range a.Keys {
			if key.Ended {
				ended("SELECT count(*) FROM "+w.Schema()+
					".api_keys WHERE account_id = ? AND id = ? AND revoked_at IS NULL", a.ID, id)
			}
		}
		for user, member := range a.Members {
			if member.Ended {
				ended("SELECT count(*) FROM "+w.Schema()+
					".account_members WHERE account_id = ? AND user_id = ? AND removed_at IS NULL", a.ID, user)
			}
		}
		if !a.Active {
			ended("SELECT count(*) FROM "+w.Schema()+".accounts WHERE id = ? AND active", a.ID)
		}
	}
	for _, p := range h.People {
		if p.Erased {
			ended("SELECT count(*) FROM "+w.Schema()+".people WHERE id = ? AND NOT erased", p.ID)
		}
	}
}
