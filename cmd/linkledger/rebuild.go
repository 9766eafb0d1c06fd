package main

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// progressLines is how often a rebuild prints a line where nobody is at the terminal.
const progressLines = 2 * time.Second

// someProjections names one projection or all.
type someProjections struct {
	target
	Name string `arg:"" optional:"" help:"Name of the projection."`
	All  bool   `help:"All projections."`
}

func (c *someProjections) names() ([]string, error) {
	switch {
	case c.All == (c.Name != ""):
		return nil, usage("give the name of one projection, or --all")
	case c.All:
		return projections.Names(), nil
	}
	return []string{c.Name}, nil
}

type projectionsRebuild struct {
	someProjections
	Connections int `default:"10" help:"Largest number of PostgreSQL connections that all builds hold together, 8 to 100."`
}

// besidePool are the connections of a rebuild that are not from the pool: it listens on one, and locks the schemas over
// another.
const besidePool = 2

// rebuildMemory is what a rebuild may take of memory, in bytes, where GOMEMLIMIT does not say. What it holds is bounded to
// about two thirds of that, whatever the log has; the rest is for garbage.
const rebuildMemory = 230 << 20

// Run implements the command.
func (c *projectionsRebuild) Run(ctx context.Context, p *process) error {
	names, err := c.names()
	if err != nil {
		return err
	}
	if c.Connections < 8 || c.Connections > 100 {
		return usage("--connections must be 8 to 100, not %d", c.Connections)
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(rebuildMemory)
	}
	return c.operateWithin(ctx, p, c.Connections-besidePool, func(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
		tell, done := c.teller(p)
		err := projections.Rebuild(ctx, engine.Config{DB: db, Store: store, Logger: p.logger}, names, tell)
		done(err == nil)
		if ctx.Err() != nil {
			return usage("interrupted: the running services go on with the build; projections prune gives it up")
		}
		return err
	})
}

// teller returns what shows the progress of a rebuild, and what ends the show.
func (c *projectionsRebuild) teller(p *process) (tell func([]status.Progress), done func(complete bool)) {
	if c.JSON || !isTerminal(p.stdout) {
		lines := progressPrinter{process: p, json: c.JSON}
		return lines.tell, func(bool) {}
	}
	bars := newProgressBars(p)
	return bars.tell, bars.end
}

// estimate is what can be said of the rest of a rebuild. Positions are about bytes of the log, so the rest of them takes
// as long as those before it did.
func estimate(p status.Progress, from uint64, since time.Duration) (percent float64, left time.Duration) {
	if p.Done || p.Head == 0 {
		return 100, 0
	}
	percent = min(100, 100*float64(p.Position)/float64(p.Head))
	if p.Position > from && p.Head > p.Position {
		left = time.Duration(float64(since) * float64(p.Head-p.Position) / float64(p.Position-from))
	}
	return percent, left
}

// progressPrinter prints a line per projection now and then.
type progressPrinter struct {
	process *process
	json    bool
	from    map[string]uint64
	began   time.Time
	told    time.Time
}

// progressView is the progress of one projection as it is printed.
type progressView struct {
	Name       string  `json:"name"`
	Generation int     `json:"generation"`
	Percent    float64 `json:"percent"`
	Rate       float64 `json:"rate"`
	ETASeconds float64 `json:"eta_seconds"`
	Serving    bool    `json:"serving"`
}

func (l *progressPrinter) tell(all []status.Progress) {
	now, ended := time.Now(), true
	if l.from == nil {
		l.from, l.began = make(map[string]uint64), now
		for _, p := range all {
			l.from[p.Name] = p.Position
		}
	}
	for _, p := range all {
		ended = ended && p.Done
	}
	if !ended && now.Sub(l.told) < progressLines {
		return
	}
	l.told = now
	for _, p := range all {
		percent, left := estimate(p, l.from[p.Name], now.Sub(l.began))
		view := progressView{p.Name, p.Generation, percent, p.Rate, left.Seconds(), p.Done}
		if l.json {
			_ = printJSON(l.process.stdout, view) // that nobody reads along does not end the rebuild
			continue
		}
		_, _ = fmt.Fprintf(l.process.stdout, "%s generation %d: %.1f%%, %.0f events/s, %s left, serving: %t\n",
			p.Name, p.Generation, percent, p.Rate, left.Round(time.Second), p.Done)
	}
}

// progressBars shows a bar per projection.
type progressBars struct {
	writer   progress.Writer
	trackers map[string]*progress.Tracker
	ended    chan struct{}
}

func newProgressBars(p *process) *progressBars {
	b := &progressBars{writer: progress.NewWriter(), trackers: make(map[string]*progress.Tracker), ended: make(chan struct{})}
	b.writer.SetOutputWriter(p.stdout)
	b.writer.SetAutoStop(false)
	b.writer.SetTrackerPosition(progress.PositionRight)
	b.writer.Style().Visibility = progress.StyleVisibility{ETA: true, Percentage: true, Time: true, Tracker: true}
	go func() {
		defer close(b.ended)
		b.writer.Render()
	}()
	return b
}

func (b *progressBars) tell(all []status.Progress) {
	for _, p := range all {
		tracker, ok := b.trackers[p.Name]
		if !ok {
			tracker = &progress.Tracker{}
			b.trackers[p.Name] = tracker
			b.writer.AppendTracker(tracker)
		}
		tracker.UpdateMessage(fmt.Sprintf("%s generation %d, %.0f events/s", p.Name, p.Generation, p.Rate))
		tracker.UpdateTotal(int64(p.Head)) //nolint:gosec // a log has far less than 2^63 bytes
		if p.Done {
			tracker.MarkAsDone()
			continue
		}
		tracker.SetValue(min(int64(p.Position), int64(p.Head)-1)) //nolint:gosec // see above
	}
}

func (b *progressBars) end(complete bool) {
	for _, tracker := range b.trackers {
		if !complete && !tracker.IsDone() {
			tracker.MarkAsErrored()
		}
	}
	b.writer.Stop()
	<-b.ended
}

type projectionsRollback struct {
	target
	Name string `arg:"" help:"Name of the projection."`
}

// Run implements the command.
func (c *projectionsRollback) Run(ctx context.Context, p *process) error {
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
		generation, err := projections.Rollback(ctx, db, store, c.Name)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(p.stdout, map[string]int{"generation": generation})
		}
		_, err = fmt.Fprintf(p.stdout, "generation %d of %s serves\n", generation, c.Name)
		return err
	})
}

type projectionsPrune struct {
	someProjections
}

// Run implements the command.
func (c *projectionsPrune) Run(ctx context.Context, p *process) error {
	names, err := c.names()
	if err != nil {
		return err
	}
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		pruned := 0
		for _, name := range names {
			n, err := projections.Prune(ctx, db, name)
			if err != nil {
				return err
			}
			pruned += n
		}
		if c.JSON {
			return printJSON(p.stdout, map[string]int{"pruned": pruned})
		}
		_, err := fmt.Fprintf(p.stdout, "%d generations removed\n", pruned)
		return err
	})
}
