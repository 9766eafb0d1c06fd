package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linkledger/events"
	"linkledger/events/embedded"
	"linkledger/events/embedded/recordedtest"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/level"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
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
				ctx := projectionstest.Context(t)
				db, store := projectionstest.Open(t), eventstoretest.Open(t, server.URL())
				w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
				stop := projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
				account := w.Account()
				_, at := w.Link(account, "a")
				progress.Wait(t, at, projections.Links, projections.Tree)
				stop()
				if _, err := db.NewRaw(`UPDATE linkledger.generations SET commit_pos = commit_pos + ?0, prepare_pos = prepare_pos + ?0
					WHERE name = ?1`, moved, projections.Links).Exec(ctx); err != nil {
					t.Fatal(err)
				}
				board := &status.Registry{}
				projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Registry: board})
				projectionstest.AwaitStatus(t, board, func(s status.Status) bool {
					return s.Owned && (s.Projection == projections.Links) == errors.Is(s.Err, eventstore.ErrPositionInvalid)
				})
				_, at = w.Link(account, "b")
				progress.Wait(t, at, projections.Tree)
				overviews, err := status.Overviews(ctx, projections.All(), db, store)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range overviews {
					misplaced := o.Name == projections.Links
					if misplaced != (o.State == status.Misplaced) ||
						misplaced != strings.Contains(o.LastError, "projections rebuild") {
						t.Errorf("overview %+v", o)
					}
				}
				_, at = w.Link(account, "c")
				progress.Wait(t, at, projections.Links)
				if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.links"); n != 3 {
					t.Errorf("%d links after the repair", n)
				}
				if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.generations WHERE name = 'links'"); n != 2 {
					t.Errorf("%d generations of the links after the repair", n)
				}
				if n := projectionstest.Count(
					t, db, "SELECT count(*) FROM linkledger.generations WHERE serving AND commit_pos > ?", at,
				); n != 0 {
					t.Errorf("%d checkpoints are after the end of the log", n)
				}
			})
		})
	}
}

// TestMisplacedBuild moves the checkpoint of a generation that is being built to where the log has no event. It checks
// that the build starts over and takes over.
func TestMisplacedBuild(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	stop := projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	_, at := w.Link(w.Account(), "a")
	progress.Wait(t, at, projections.Links)
	stop()
	next, begun, err := generation.CreateBeside(ctx, db, projections.Links, "")
	if err != nil || !begun {
		t.Fatalf("no build was begun: %v", err)
	}
	if _, err := db.NewRaw(`UPDATE linkledger.generations SET commit_pos = 1 << 30, prepare_pos = 1 << 30
		WHERE name = ? AND generation = ?`, projections.Links, next.Generation).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	for serving := 0; serving != next.Generation; <-time.After(20 * time.Millisecond) {
		row, err := generation.Serving(ctx, db, projections.Links)
		if err != nil {
			t.Fatal(err)
		}
		serving = row.Generation
	}
	if got := hashes(ctx, t, db); !slices.Equal(got, []string{"a"}) {
		t.Errorf("links %v", got)
	}
}

// replace puts a copy of one folder in the place of another.
func replace(t *testing.T, folder, by string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(by))); err != nil {
		t.Fatal(err)
	}
}

// hashes returns the hashes of the links that readers see.
func hashes(ctx context.Context, t *testing.T, db *readmodel.DB) (all []string) {
	t.Helper()
	if err := db.NewRaw("SELECT hash FROM linkledger.links ORDER BY hash").Scan(ctx, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLogThatWasWrittenOn restores a log from a backup and writes on more than was lost, so that it has events where
// the checkpoints are. It checks that each projection that follows the events that differ is built anew by itself.
func TestLogThatWasWrittenOn(t *testing.T) {
	t.Parallel()
	for name, answers := range recordedtest.Dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, parent := projectionstest.Context(t), t.TempDir()
			folder, backup := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
			server := eventstoretest.ServeConfig(t, embedded.Config{Dir: folder, Dialect: answers})
			db, store := projectionstest.Open(t), eventstoretest.Open(t, server.URL())
			w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
			board := &status.Registry{}
			cfg := engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Registry: board}
			stop := projectionstest.Run(t, cfg)
			account := w.Account()
			_, kept := w.Link(account, "kept")
			progress.Wait(t, kept, projections.Links, projections.History, projections.Tree)
			stop()
			server.Stop()
			replace(t, backup, folder)

			server.Start()
			stop = projectionstest.Run(t, cfg)
			at := kept
			for _, hash := range []string{"los1", "los2", "los3"} {
				_, at = w.Link(account, hash)
			}
			progress.Wait(t, at, projections.Links, projections.History, projections.Tree)
			stop()
			server.Stop()
			replace(t, folder, backup)

			server.Start()
			lost := at
			for _, hash := range []string{"new1", "new2", "new3"} {
				_, at = w.Link(account, hash)
			}
			if at != lost {
				t.Fatalf("the log has an event at %d, not at the checkpoint %d", at, lost)
			}
			w.Append(events.StreamAccount+account.String(), events.PlanChanged{Plan: "pro", At: logtest.Noon})
			w.Link(account, "new4")
			overviews, err := status.Overviews(ctx, projections.All(), db, store)
			if err != nil {
				t.Fatal(err)
			}
			// A projection that knows no lost event has missed none: it goes on, wherever its checkpoint is.
			ahead := make(map[string]bool)
			for _, o := range overviews {
				ahead[o.Name] = o.Witness.Position.Commit > kept
				if ahead[o.Name] != (o.State == status.Misplaced) || ahead[o.Name] != (o.LastError != "") {
					t.Errorf("overview %+v", o)
				}
			}
			if !ahead[projections.Links] || !ahead[projections.Tree] {
				t.Errorf("ahead of the log are %v", ahead)
			}
			watch := level.NewWatch(db, store, projections.Filters(), slog.New(slog.DiscardHandler))
			misplaced := func(want bool) {
				t.Helper()
				if err := watch.Check(ctx); err != nil || watch.Misplaced(projections.Links) != want {
					t.Errorf("the links are misplaced: %t, %v; want %t", watch.Misplaced(projections.Links), err, want)
				}
			}
			misplaced(true)
			projectionstest.Run(t, cfg)
			for {
				now, err := status.Overviews(ctx, projections.All(), db, store)
				if err != nil {
					t.Fatalf("%v; last %+v", err, overviews)
				}
				overviews = now
				if !slices.ContainsFunc(overviews, func(o status.Overview) bool {
					return o.Serving && (o.State != status.Live || o.LagEvents > 0 ||
						ahead[o.Name] != (o.Generation > generation.First))
				}) {
					break
				}
				<-time.After(20 * time.Millisecond)
			}
			misplaced(false)
			want := []string{"kept", "new1", "new2", "new3", "new4"}
			if got := hashes(ctx, t, db); !slices.Equal(got, want) {
				t.Errorf("links %v, want %v", got, want)
			}
			for _, p := range projections.Names() {
				found, err := projections.Verify(ctx, db, store, p, func([]status.Progress) {})
				if err != nil || found.Different != 0 {
					t.Errorf("%s: %+v, %v", p, found, err)
				}
			}
		})
	}
}
