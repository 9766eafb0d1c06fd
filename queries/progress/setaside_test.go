package progress

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/queries/queriestest"
)

// TestSetAside sets an event aside in another process. It checks that a call which has waited for the event knows of
// it, and that calls ask the database only while an event is set aside.
func TestSetAside(t *testing.T) {
	t.Parallel()
	db, ctx := queriestest.OpenDatabase(t), queriestest.WithTimeout(t)
	f := NewWaiter(db)
	queriestest.Run(t, f.Run)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	lacking := func(ctx context.Context, want bool) {
		t.Helper()
		found, err := f.SetAside(ctx, "links", 19, 20)
		if _, ok := found[20]; err != nil || ok != want || len(found) > 1 {
			t.Fatalf("found %v, %v; want %t", found, err, want)
		}
	}
	for position := uint64(20); position < 80; position += 20 {
		queriestest.Commit(t, db, "links", position, true)
		mustWait(t, f, position)
		lacking(ctx, false)
		lacking(ended, false)

		letter := &readmodel.DeadLetter{
			Name: "links", Generation: 1, CommitPos: 20, EventID: uuid.New(), Stream: "url-x", Type: "url.x",
			RecordedAt: queriestest.Noon, Data: []byte{},
		}
		if _, err := db.NewInsert().Model(letter).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := db.NewRaw("SELECT pg_notify(?, ?)", readmodel.Channel,
			"links "+readmodel.Changed+readmodel.SetAside).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		queriestest.Commit(t, db, "links", position+1, true)
		mustWait(t, f, position+1)
		lacking(ctx, true)
		lacking(ctx, true)
		if _, err := db.NewDelete().Model(letter).WherePK().Exec(ctx); err != nil {
			t.Fatal(err)
		}
		lacking(ctx, false)
		lacking(ended, false)
	}
}
