package engine_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// TestNextOwnerTriesAgain sets an event aside, and lets the next owner of the projection try it again
// when its cause is gone. The same owner tries it regularly.
func TestNextOwnerTriesAgain(t *testing.T) {
	t.Parallel()
	for owner, interval := range map[string]time.Duration{"same": 20 * time.Millisecond, "next": time.Hour} {
		t.Run(owner, func(t *testing.T) {
			t.Parallel()
			ctx, db, store := projectionstest.Context(t), projectionstest.Open(t), eventstoretest.New(t)
			w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
			cfg := engine.Config{
				DB: db, Store: store, OnCommit: progress.Advance, Registry: &status.Registry{},
				RetryInterval: interval,
			}
			stop := projectionstest.Run(t, cfg)
			account := w.Account()
			missing := events.TagCreated{
				TagID: uuid.NewString(), Account: account.String(), Label: "l", At: logtest.Noon,
			}
			at := w.Append(events.StreamTags+account.String(), events.TagRenamed{TagID: missing.TagID, Label: "m", At: logtest.Noon})
			_, after := w.Link(account, "after")
			progress.Wait(t, at, projections.Tags, projections.History)
			progress.Wait(t, after, projections.Links)
			for _, s := range cfg.Registry.All() {
				if s.Stopped || s.Err != nil {
					t.Errorf("status %+v", s)
				}
			}
			// As if a version that knows the tag took over.
			schema := bun.Ident(readmodel.GenerationSchema(projections.Tags, generation.First))
			if _, err := db.NewRaw("INSERT INTO ?.tags (id, account_id, label, created_at, position) VALUES (?, ?, 'l', now(), 1)",
				schema, missing.TagID, account).Exec(ctx); err != nil {
				t.Fatal(err)
			}
			if owner == "next" {
				stop()
				projectionstest.Run(t, cfg)
			}
			for projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.dead_letters WHERE name = 'tags'") > 0 {
				if ctx.Err() != nil {
					t.Fatal("the dead letters are not tried again")
				}
			}
			if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.tags WHERE label = 'm'"); n != 1 {
				t.Error("the tag is not renamed")
			}
		})
	}
}
