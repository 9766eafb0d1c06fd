package maintenance

import (
	"context"
	"io"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
	"linkledger/robots"
)

// extraConnections are the connections of a rebuild that are not from the pool: one listens for
// notifications, and one holds the lock of the schemas.
const extraConnections = 2

// rebuildMemory is the memory limit of a rebuild in bytes if GOMEMLIMIT is not set. The data that a
// rebuild holds is bounded to about two thirds of it, however large the log is. The rest is for
// garbage.
const rebuildMemory = 230 << 20

// RebuildConfig says what Rebuild builds.
type RebuildConfig struct {
	Names []string // of projections; empty: all
	// Words decide anew which recorded clicks are by robots. If Words is nil, recorded clicks count
	// as before.
	Words       *robots.Table
	Connections int // that all builds together hold at most
}

// Rebuild builds the next generations beside the serving ones, and switches readers to them.
func Rebuild(ctx context.Context, o installation.Operator, cfg RebuildConfig) error {
	names := namesOrAll(cfg.Names)
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(rebuildMemory)
	}
	return o.OperateWithin(ctx, cfg.Connections-extraConnections, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		update, end := newProgressDisplay(o)
		err := projections.RebuildJudged(
			ctx, engine.Config{DB: db, Store: store, Logger: o.Logger}, names, cfg.Words, update,
		)
		end(err == nil)
		if ctx.Err() != nil {
			return usage.Errorf(
				"interrupted: the running services continue the build; projections prune deletes " +
					"it",
			)
		}
		if err != nil {
			return err
		}
		return warnOfSetAside(ctx, o, db, names)
	})
}

// warnOfSetAside logs what the new generations have set aside.
func warnOfSetAside(
	ctx context.Context, o installation.Operator, db *readmodel.DB, names []string,
) error {
	summaries, err := deadletter.Summaries(ctx, db)
	for _, of := range summaries {
		if slices.Contains(names, of.Name) {
			o.Logger.WarnContext(ctx, "built, but events that cannot be applied are set aside: "+
				"see linkledger projections dead-letters list",
				slog.String("projection", of.Name), slog.Int("streams", of.Streams),
				slog.String("first", of.Stream), slog.String("error", of.Error))
		}
	}
	return err
}

// newProgressDisplay returns the functions that show the progress of a rebuild and end its display.
func newProgressDisplay(o installation.Operator) (
	update func([]status.Progress), end func(complete bool),
) {
	if o.JSON || !console.IsTerminal(o.Stdout) {
		lines := progressPrinter{out: o.Stdout, json: o.JSON}
		return lines.update, func(bool) {}
	}
	bars := newProgressBars(o.Stdout)
	return bars.update, bars.end
}

// progressInterval is how often a rebuild prints its progress as lines.
const progressInterval = 2 * time.Second

// estimate returns the progress of a rebuild in percent and the estimated time to its end. A commit
// position is about the number of bytes of the log before it. So estimate assumes that each of the
// remaining bytes takes as long as each byte since from, where the rebuild was since ago.
func estimate(
	p status.Progress, from uint64, since time.Duration,
) (percent float64, left time.Duration) {
	if p.Done || p.Head == 0 {
		return 100, 0
	}
	percent = min(100, 100*float64(p.Position)/float64(p.Head))
	if p.Position > from && p.Head > p.Position {
		left = time.Duration(float64(since) * float64(p.Head-p.Position) / float64(p.Position-from))
	}
	return percent, left
}

// progressPrinter prints a line per projection at intervals.
type progressPrinter struct {
	out      io.Writer
	json     bool
	from     map[string]uint64
	began    time.Time
	reported time.Time
}

// printedProgress is the printed form of the progress of one projection.
type printedProgress struct {
	Name       string  `json:"name"`
	Generation int     `json:"generation"`
	Percent    float64 `json:"percent"`
	Rate       float64 `json:"rate"`
	ETASeconds float64 `json:"eta_seconds"`
	Serving    bool    `json:"serving"`
}

func (l *progressPrinter) update(all []status.Progress) {
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
	if !ended && now.Sub(l.reported) < progressInterval {
		return
	}
	l.reported = now
	for _, p := range all {
		percent, left := estimate(p, l.from[p.Name], now.Sub(l.began))
		view := printedProgress{p.Name, p.Generation, percent, p.Rate, left.Seconds(), p.Done}
		if l.json {
			_ = console.JSON(l.out, view) // a closed output does not end the rebuild
			continue
		}
		_ = console.Printf(l.out, "%s generation %d: %.1f%%, %.0f events/s, %s left, serving: %t\n",
			p.Name, p.Generation, percent, p.Rate, left.Round(time.Second), p.Done)
	}
}
