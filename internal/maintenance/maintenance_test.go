package maintenance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linkledger/internal/installation"
	"linkledger/internal/installation/installationtest"
	"linkledger/internal/maintenance"
	"linkledger/projections"
	"linkledger/robots"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

type operator = installation.Operator

// of returns a command on a projection.
func of(name string, command func(context.Context, operator, string) error) installationtest.Command {
	return func(ctx context.Context, o operator) error { return command(ctx, o, name) }
}

// ofAll returns a command on several projections; none: on all.
func ofAll(command func(context.Context, operator, []string) error, names ...string) installationtest.Command {
	return func(ctx context.Context, o operator) error { return command(ctx, o, names) }
}

func status(ctx context.Context, o operator) error {
	return maintenance.Status(ctx, o, false, time.Second)
}

func rebuild(names ...string) installationtest.Command {
	return func(ctx context.Context, o operator) error {
		return maintenance.Rebuild(ctx, o, maintenance.RebuildConfig{Names: names, Connections: 8})
	}
}

type shownGeneration struct {
	Name, State, Owner string
	Generation         int
	Serving            bool
	Position           uint64
	LagEvents          int     `json:"lag_events"`
	LagSeconds         float64 `json:"lag_seconds"`
	LastError          string  `json:"last_error"`
}

// awaitStatus waits until the status of a generation of links meets a condition.
func awaitStatus(
	t *testing.T, i *installationtest.Installation, number int, is func(shownGeneration) bool,
) shownGeneration {
	t.Helper()
	for ctx := installationtest.WithTimeout(t); ; {
		var all []shownGeneration
		if err := i.JSON(&all, status); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(all, func(g shownGeneration) bool {
			return g.Name == "links" && g.Generation == number && is(g)
		})
		if at >= 0 {
			return all[at]
		}
		if ctx.Err() != nil {
			t.Fatalf("no such status of links in %+v", all)
		}
	}
}

func live(g shownGeneration) bool { return g.State == "live" }

// TestPause pauses a projection, and resumes it.
func TestPause(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	was := awaitStatus(t, i, 1, live)
	if was.LagEvents != 0 || was.LagSeconds != 0 || was.Owner == "" || was.LastError != "" || !was.Serving {
		t.Errorf("a live projection is %+v", was)
	}
	i.Run(of("links", maintenance.Pause)).Has()
	created := i.Links.CreateURLs(t.Context(), i.ByAcme(), []installationtest.CreateURL{installationtest.Link("one")})
	if err := created.Items[0].Err; err != nil {
		t.Fatal(err)
	}
	paused := awaitStatus(t, i, 1, func(g shownGeneration) bool { return g.State == "paused" })
	if paused.LagEvents == 0 || paused.LagSeconds <= 0 || paused.Owner != "" {
		t.Errorf("a paused projection is %+v", paused)
	}
	i.Run(status).Has("links\t1\tpaused\t", "\tlag events\t")
	i.Run(of("links", maintenance.Resume)).Has()
	awaitStatus(t, i, 1, func(g shownGeneration) bool { return live(g) && g.Position > paused.Position })
	list := i.Run(maintenance.List).Has("name\tgeneration\tserving\tstate\n", "links\t1\ttrue\tlive\n")
	if lines := strings.Count(list, "\n"); lines != 1+len(projections.Names()) {
		t.Errorf("the list has %d lines\n%s", lines, list)
	}
	i.Run(of("painting", maintenance.Pause)).Refused("projections list names them")
}

// TestStatusIsWatched checks that a status that is watched is printed again until it is interrupted.
func TestStatusIsWatched(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	i.Run(func(ctx context.Context, o operator) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		printed := 0
		o.JSON, o.Stdout = true, writer(func(p []byte) (int, error) {
			if printed++; printed == 2 {
				stop()
			}
			return len(p), nil
		})
		return maintenance.Status(ctx, o, true, time.Millisecond)
	}).Has()
}

type writer func([]byte) (int, error)

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestRebuild rebuilds projections, rolls one back and prunes the others.
func TestRebuild(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	i.Run(of("links", maintenance.Rollback)).Refused("no earlier generation is kept")
	i.Run(rebuild()).Has("links generation 2: 100.0%", " 0s left, serving: true\n", "tree generation 2: 100.0%")
	awaitStatus(t, i, 2, func(g shownGeneration) bool { return live(g) && g.Serving })
	awaitStatus(t, i, 1, func(g shownGeneration) bool { return g.State == "kept" && !g.Serving })
	if out := i.Run(of("links", maintenance.Rollback)).Has(); out != "generation 1 of links serves\n" {
		t.Errorf("a rollback prints %s", out)
	}
	var back struct{ Generation int }
	if err := i.JSON(&back, of("tags", maintenance.Rollback)); err != nil || back.Generation != 1 {
		t.Errorf("a rollback prints %+v, %v", back, err)
	}
	if out := i.Run(ofAll(maintenance.Prune, "links")).Has(); out != "1 generations removed\n" {
		t.Errorf("prune of one prints %s", out)
	}
	var pruned struct{ Pruned int }
	err := i.JSON(&pruned, ofAll(maintenance.Prune))
	if want := len(projections.Names()) - 1; err != nil || pruned.Pruned != want {
		t.Errorf("prune prints %+v, %v; want %d", pruned, err, want)
	}
	i.Run(ofAll(maintenance.Prune, "none")).Refused("projections list names them")
	var progress struct {
		Name    string
		Percent float64
		Serving bool
	}
	p := i.Run(func(ctx context.Context, o operator) error {
		o.JSON = true
		return rebuild("tags")(ctx, o)
	})
	lines := strings.Split(strings.TrimSpace(p.Has()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &progress); err != nil || progress.Name != "tags" ||
		progress.Percent != 100 || !progress.Serving {
		t.Errorf("a rebuild prints %s, %v", p.Out, err)
	}
}

// TestRebuildSaysWhatItSetsAside checks the warning of a build that sets events aside.
func TestRebuildSaysWhatItSetsAside(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	stream := i.Poison()
	if p := i.Run(rebuild("tags")); p.Err != nil || !strings.Contains(p.Log, "are set aside") ||
		!strings.Contains(p.Log, stream) || !strings.Contains(p.Log, "projection=tags streams=1") {
		t.Errorf("a rebuild logs %s, %v", p.Log, p.Err)
	}
	if p := i.Run(rebuild("links")); p.Err != nil || strings.Contains(p.Log, "set aside") {
		t.Errorf("a rebuild of others logs %s, %v", p.Log, p.Err)
	}
	i.Run(func(ctx context.Context, o operator) error {
		ctx, cancel := context.WithCancel(ctx)
		o.Stdout = writer(func(p []byte) (int, error) { cancel(); return len(p), nil })
		return rebuild("tags")(ctx, o)
	}).Refused("interrupted: the running services continue the build")
}

// TestDeadLetters lists, retries, discards and restores an event that a projection has set aside.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	with := func(
		command func(context.Context, operator, maintenance.DeadLetterSelection) error, stream string,
	) installationtest.Command {
		return func(ctx context.Context, o operator) error {
			return command(ctx, o, maintenance.DeadLetterSelection{Projection: "tags", Stream: stream})
		}
	}
	const nothing = "0 events discarded, 0 later ones applied, 0 still set aside\n"
	if out := i.Run(with(maintenance.DiscardDeadLetters, "")).Has(); out != nothing {
		t.Errorf("to discard nothing prints %s", out)
	}
	stream := i.Poison()
	i.Run(of("", maintenance.DeadLetters)).Has("tags\t1\tyes\t", "\t"+stream+"\t0\ttag.deleted.v1\t")
	var letters []struct {
		Projection, Stream, Type, Error string
		Generation                      int
		Serving                         bool
		ParkedAt                        time.Time `json:"parked_at"`
	}
	if err := i.JSON(&letters, of("tags", maintenance.DeadLetters)); err != nil || len(letters) != 1 ||
		!letters[0].Serving || letters[0].Stream != stream || letters[0].ParkedAt.IsZero() || letters[0].Error == "" {
		t.Errorf("dead letters are %+v, %v", letters, err)
	}
	i.Run(rebuild("tags")).Has()
	i.Run(of("tags", maintenance.DeadLetters)).Has("tags\t1\t\t", "tags\t2\tyes\t")
	if p := i.Run(with(maintenance.RetryDeadLetters, "")); p.Err == nil {
		t.Errorf("a retry of what cannot be applied prints %s", p.Out)
	}
	if out := i.Run(with(maintenance.RetryDeadLetters, "none")).Has(); out != "0 events applied\n" {
		t.Errorf("a retry of another stream prints %s", out)
	}
	var discarded map[string]int
	err := i.JSON(&discarded, with(maintenance.DiscardDeadLetters, stream))
	if err != nil || discarded["discarded"] != 1 || discarded["applied"] != 0 || discarded["left"] != 0 {
		t.Errorf("discarded are %v, %v", discarded, err)
	}
	i.Run(of("", maintenance.DiscardedEvents)).
		Has("projection\tstream\trevision\ttype\tdiscarded\n", "tags\t"+stream+"\t0\ttag.deleted.v1\t2")
	if out := i.Run(of("links", maintenance.DiscardedEvents)).Has(); strings.Contains(out, stream) {
		t.Errorf("links have discarded\n%s", out)
	}
	i.Run(with(maintenance.RestoreDiscarded, "")).
		Has("1 events restored: linkledger projections rebuild tags applies them. ")
	var restored map[string]int
	if err := i.JSON(&restored, with(maintenance.RestoreDiscarded, "")); err != nil || restored["restored"] != 0 {
		t.Errorf("restored again are %v, %v", restored, err)
	}
	i.Run(of("none", maintenance.DeadLetters)).Refused("projections list names them")
}

// TestVerify compares unchanged read models with the log, and one that was changed by hand.
func TestVerify(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	var links []installationtest.CreateURL
	for n := range 60 {
		link := installationtest.Link(fmt.Sprint("right-", n))
		link.Tags = []string{"a"}
		links = append(links, link)
	}
	i.Create(links...)
	if out := i.Run(ofAll(maintenance.Verify)).Has(); strings.Count(out, ", 0 different\n") != len(projections.Names()) {
		t.Errorf("verify prints\n%s", out)
	}
	i.Exec("UPDATE links_g1.links SET hash = 'wrong' WHERE hash = 'right-0'")
	i.Exec("DELETE FROM links_g1.links WHERE hash = 'right-1'")
	p := i.Run(ofAll(maintenance.Verify, "links"))
	p.Fails(" rows are not as the log says")
	p.Prints("links generation 1 at position ", "  links {", `"hash": "wrong"`, `"hash": "right-0"`, "found  no such row")
	i.Exec("UPDATE links_g1.links SET note = 'wrong'")
	p = i.Run(ofAll(maintenance.Verify, "links"))
	p.Fails(" rows are not as the log says")
	p.Prints("  and ", " more\n")
	var found []struct {
		Name                    string
		Events, Rows, Different int64
		Differences             []struct{ Table string }
	}
	if err := i.JSON(&found, ofAll(maintenance.Verify, "links", "tags")); err == nil || len(found) != 2 ||
		found[0].Different < 60 || found[0].Events == 0 || found[0].Rows == 0 || len(found[0].Differences) == 0 ||
		found[1].Name != "tags" || found[1].Different != 0 || found[1].Rows != 1 {
		t.Errorf("verify prints %+v, %v", found, err)
	}
	i.Run(rebuild("links")).Has()
	i.Run(ofAll(maintenance.Verify, "links")).Has("links generation 2 ", " 0 different")
}

// TestWords checks which words judge clicks anew.
func TestWords(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agents")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		file    string
		builtIn bool
		want    bool
		fails   string
	}{
		"none": {}, "built-in": {builtIn: true, want: true}, "file": {file: file, want: true},
		"both":    {file: file, builtIn: true, fails: "not both"},
		"no file": {file: file + "x", fails: "--agents: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var words *robots.Table
			var err error
			words, err = maintenance.ReadWords(tc.file, tc.builtIn)
			if (words != nil) != tc.want || (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%v, %v", words != nil, err)
			}
		})
	}
	judging := projections.Judging()
	for _, name := range append([]string{""}, judging...) {
		if names, err := maintenance.Judging(name); err != nil || !slices.Equal(names, judging) {
			t.Errorf("%q: %v, %v", name, names, err)
		}
	}
	if _, err := maintenance.Judging("tree"); err == nil || !strings.Contains(err.Error(), strings.Join(judging, " and ")) {
		t.Errorf("the tree counts clicks: %v", err)
	}
}
