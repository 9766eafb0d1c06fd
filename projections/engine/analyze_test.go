package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
)

// TestFilledTablesAreKnownToThePlanner checks that the planner has statistics of the tables,
// without autovacuum, after two processes have caught up with a log.
func TestFilledTablesAreKnownToThePlanner(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	if _, err := db.ExecContext(projectionstest.Context(t), `ALTER TABLE links_g1.links SET (autovacuum_enabled = false);
		ALTER TABLE history_g1.link_versions SET (autovacuum_enabled = false)`); err != nil {
		t.Fatal(err)
	}
	account := w.Account()
	var position uint64
	for i := range 200 {
		id := uuid.New()
		position = w.Append(events.StreamURL+id.String(), events.URLCreated{
			URLID: id.String(), Account: account.String(), Hash: fmt.Sprint("h", i),
			LongURL: "https://example.com/" + strings.Repeat("x", 1500), At: logtest.Noon,
		})
	}
	for range 2 {
		projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Lease: generation.DefaultLease / 3})
	}
	progress.Wait(t, position, projections.Links, projections.History)
	ctx, ticker := projectionstest.Context(t), time.NewTicker(50*time.Millisecond)
	defer ticker.Stop()
	for projectionstest.Count(t, db, `SELECT count(*) FROM pg_class WHERE reltuples = 200
			AND oid IN ('links_g1.links'::regclass, 'history_g1.link_versions'::regclass)`) < 2 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatal("the planner did not get statistics")
		}
	}
}
