package projections

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
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/level"
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

// TestMisplacedBuild moves the checkpoint of a generation that is being built to where the log has no event. It checks
// that the build starts over and takes over.
func TestMisplacedBuild(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	stop := run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance})
	_, at := w.link(w.account(), "a")
	progress.wait(t, at, Links)
	stop()
	next, begun, err := generation.CreateBeside(ctx, db, Links, "")
	if err != nil || !begun {
		t.Fatalf("no build was begun: %v", err)
	}
	if _, err := db.NewRaw(`UPDATE linkledger.generations SET commit_pos = 1 << 30, prepare_pos = 1 << 30
		WHERE name = ? AND generation = ?`, Links, next.Generation).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance})
	for serving := 0; serving != next.Generation; <-time.After(20 * time.Millisecond) {
		row, err := generation.Serving(ctx, db, Links)
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
			ctx, parent := withTimeout(t), t.TempDir()
			folder, backup := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
			server := eventstoretest.ServeConfig(t, embedded.Config{Dir: folder, Dialect: answers})
			db, store := openDatabase(t), eventstoretest.Open(t, server.URL())
			w, progress := newWriter(t, store), newProgressLog()
			board := &status.Registry{}
			cfg := engine.Config{DB: db, Store: store, OnCommit: progress.advance, Registry: board}
			stop := run(t, cfg)
			account := w.account()
			_, kept := w.link(account, "kept")
			progress.wait(t, kept, Links, History, Tree)
			stop()
			server.Stop()
			replace(t, backup, folder)

			server.Start()
			stop = run(t, cfg)
			at := kept
			for _, hash := range []string{"los1", "los2", "los3"} {
				_, at = w.link(account, hash)
			}
			progress.wait(t, at, Links, History, Tree)
			stop()
			server.Stop()
			replace(t, folder, backup)

			server.Start()
			lost := at
			for _, hash := range []string{"new1", "new2", "new3"} {
				_, at = w.link(account, hash)
			}
			if at != lost {
				t.Fatalf("the log has an event at %d, not at the checkpoint %d", at, lost)
			}
			w.append(events.StreamAccount+account.String(), events.PlanChanged{Plan: "pro", At: noon})
			w.link(account, "new4")
			overviews, err := Overviews(ctx, db, store)
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
			if !ahead[Links] || !ahead[Tree] {
				t.Errorf("ahead of the log are %v", ahead)
			}
			watch := level.NewWatch(db, store, Filters(), slog.New(slog.DiscardHandler))
			misplaced := func(want bool) {
				t.Helper()
				if err := watch.Check(ctx); err != nil || watch.Misplaced(Links) != want {
					t.Errorf("the links are misplaced: %t, %v; want %t", watch.Misplaced(Links), err, want)
				}
			}
			misplaced(true)
			run(t, cfg)
			for {
				now, err := Overviews(ctx, db, store)
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
			for _, p := range Names() {
				found, err := Verify(ctx, db, store, p, func([]status.Progress) {})
				if err != nil || found.Different != 0 {
					t.Errorf("%s: %+v, %v", p, found, err)
				}
			}
		})
	}
}
