package projections

import (
	"errors"
	"strings"
	"testing"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
)

// TestMisplacedCheckpoint moves the checkpoint of a projection to a position where the log has no
// event, as the restore of an older backup does. It checks that the error says what is wrong, that the
// other projections continue, and that the projection is built anew by itself.
func TestMisplacedCheckpoint(t *testing.T) {
	t.Parallel()
	for place, moved := range map[string]int{"inside an event": -1, "behind the end": 1 << 20} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			eventstoretest.Each(t, func(t *testing.T, server *eventstoretest.Server) {
				t.Helper()
				ctx := withTimeout(t)
				db, store := openDatabase(t), eventstoretest.Open(t, server.URL())
				w, progress := newWriter(t, store), newProgressLog()
				stop := run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance})
				account := w.account()
				_, at := w.link(account, "a")
				progress.wait(t, at, Links, Tree)
				stop()
				if _, err := db.NewRaw(`UPDATE linkledger.generations SET commit_pos = commit_pos + ?0, prepare_pos = prepare_pos + ?0
					WHERE name = ?1`, moved, Links).Exec(ctx); err != nil {
					t.Fatal(err)
				}
				board := &status.Registry{}
				run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Registry: board})
				awaitStatus(t, board, func(s status.Status) bool {
					return s.Owned && (s.Projection == Links) == errors.Is(s.Err, eventstore.ErrPositionInvalid)
				})
				_, at = w.link(account, "b")
				progress.wait(t, at, Tree)
				overviews, err := Overviews(ctx, db, store)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range overviews {
					misplaced := o.Name == Links
					if misplaced != (o.State == status.Misplaced) ||
						misplaced != strings.Contains(o.LastError, "projections rebuild") {
						t.Errorf("overview %+v", o)
					}
				}
				_, at = w.link(account, "c")
				progress.wait(t, at, Links)
				if n := count(t, db, "SELECT count(*) FROM linkledger.links"); n != 3 {
					t.Errorf("%d links after the repair", n)
				}
				if n := count(t, db, "SELECT count(*) FROM linkledger.generations WHERE name = 'links'"); n != 2 {
					t.Errorf("%d generations of the links after the repair", n)
				}
				if n := count(
					t, db, "SELECT count(*) FROM linkledger.generations WHERE serving AND commit_pos > ?", at,
				); n != 0 {
					t.Errorf("%d checkpoints are after the end of the log", n)
				}
			})
		})
	}
}
