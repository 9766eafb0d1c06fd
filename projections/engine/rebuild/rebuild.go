package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/engine"
	"linkledger/projections/engine/failure"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/robots"
	"linkledger/waiting"
)

const (
	// progressInterval is how often a rebuild reports its progress.
	progressInterval = 250 * time.Millisecond
	// rollbackTimeout is how long a rollback waits for the earlier generation to catch up with the
	// one that serves.
	rollbackTimeout = 10 * time.Second
)

var (
	// ErrNoGeneration means that there is no generation to roll back to.
	ErrNoGeneration = errors.New("no earlier generation is kept")
	// ErrStopped means that a build that was begun earlier waits before it tries a failed batch
	// again: resume the projection when the cause is gone, or prune the build.
	ErrStopped = errors.New("an earlier build has stopped: try it again, or prune it")
	// ErrBehind means that a generation lacks events that readers have seen, because no process
	// keeps it up to date.
	ErrBehind = errors.New("the generation lacks events that the one that serves has")
)

// Run builds the next generation of projections beside the ones that serve, and returns when all of
// them serve. Each generation takes over as soon as it has caught up. A build that was begun
// earlier is continued. If words is not nil, the new generations of projections that judge clicks
// judge all clicks up to now by words. Run then fails with generation.ErrOtherWords if an earlier
// build judges by other words.
//
// If ctx ends early, the running services continue the build. Run fails if a build stops.
func Run(
	ctx context.Context, projections projection.Set, cfg engine.Config, names []string,
	words *robots.Table, onProgress func([]status.Progress),
) (err error) {
	cfg = cfg.WithDefaults()
	// The builds MUST belong to this process before its elections begin.
	leave, err := cfg.DB.Present(ctx, cfg.Owner)
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	defer func() { err = errors.Join(err, leave()) }()
	if cfg.Only, err = beginBuilds(ctx, projections, cfg, names, words); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(running, projections, cfg) }()
	err = watchBuild(running, cfg, onProgress, ended)
	stop()
	return errors.Join(err, <-ended)
}

// Begin begins to build the next generation of a projection. It does not wait for the build, which
// the running services do. A build that was begun earlier continues. If that build has stopped,
// Begin fails with ErrStopped. The caller MUST have made sure that the database belongs to the log.
func Begin(
	ctx context.Context, projections projection.Set, db *readmodel.DB, name string,
) error {
	g, err := beginBuild(ctx, projections, db, name, "")
	if err == nil && g.Stopped {
		err = fmt.Errorf("%w: %s", ErrStopped, g.LastError)
	}
	if err != nil {
		return fmt.Errorf("rebuild %s: %w", name, err)
	}
	return nil
}

// beginBuilds does for several projections what beginBuild does, and returns the set of the
// generations. words has the same meaning as in Run.
func beginBuilds(
	ctx context.Context, projections projection.Set, cfg engine.Config, names []string,
	words *robots.Table,
) (map[generation.Key]bool, error) {
	begun := make(map[generation.Key]bool)
	var judging, others []string
	for _, name := range names {
		if p, err := projections.Named(name); err == nil && p.Judges && words != nil {
			judging = append(judging, name)
		} else {
			others = append(others, name)
		}
	}
	if len(judging) > 0 {
		judged, err := generation.CreateJudged(ctx, cfg.DB, judging, cfg.Owner, words)
		if err != nil {
			return nil, fmt.Errorf("rebuild: %w", err)
		}
		for _, g := range judged {
			begun[generation.KeyOf(g)] = true
		}
	}
	for _, name := range others {
		g, err := beginBuild(ctx, projections, cfg.DB, name, cfg.Owner)
		if err != nil {
			return nil, fmt.Errorf("rebuild %s: %w", name, err)
		}
		begun[generation.KeyOf(g)] = true
	}
	return begun, nil
}

// beginBuild returns the generation that is being built. If there is none, it creates one for an
// owner, which may be empty.
func beginBuild(
	ctx context.Context, projections projection.Set, db *readmodel.DB, name, owner string,
) (g readmodel.Generation, err error) {
	if _, err := projections.Named(name); err != nil {
		return g, err
	}
	g, _, err = generation.CreateBeside(ctx, db, name, owner)
	return g, err
}

// watchBuild reports the progress until all generations serve.
func watchBuild(
	ctx context.Context, cfg engine.Config, onProgress func([]status.Progress), ended chan error,
) error {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		progress, err := progressOf(ctx, cfg)
		if err != nil {
			return err
		}
		onProgress(progress)
		if !slices.ContainsFunc(progress, func(p status.Progress) bool { return !p.Done }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			ended <- nil
			return err
		case <-ticker.C:
		}
	}
}

func progressOf(ctx context.Context, cfg engine.Config) ([]status.Progress, error) {
	head, err := cfg.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := generation.Candidates(ctx, cfg.DB)
	if err != nil {
		return nil, err
	}
	var progress []status.Progress
	for _, row := range rows {
		if !cfg.Only[generation.KeyOf(row.Generation)] {
			continue
		}
		if row.Stopped {
			return nil, fmt.Errorf(
				"rebuild %s: generation %d has stopped: %s", row.Name, row.Generation.Generation,
				row.LastError,
			)
		}
		progress = append(progress, status.Progress{
			Name: row.Name, Generation: row.Generation.Generation,
			Position: generation.CheckpointOf(row.Generation).Position.Commit,
			Head:     head.Commit, Rate: row.Rate, Done: row.Built,
		})
	}
	if len(progress) < len(cfg.Only) {
		return nil, fmt.Errorf("rebuild: %w: the generation was pruned", generation.ErrFenced)
	}
	return progress, nil
}

// Rollback makes the newest kept generation serve again, and returns its number. It waits up to
// rollbackTimeout for that generation to catch up with the one that serves, and for readers that
// hold a lock. It fails with ErrBehind if no process keeps the generation up to date. If it runs
// out of time for another reason, such as a lock that is held or an outage, it returns that error.
func Rollback(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, p projection.Definition,
) (int, error) {
	name := p.Name
	ctx, cancel := context.WithTimeout(ctx, rollbackTimeout)
	defer cancel()
	var reason error // the last error that the end of ctx has not caused
	for {
		var kept []readmodel.Generation
		if err := db.NewSelect().Model(&kept).Where("name = ? AND built AND NOT serving", name).
			Order("generation DESC").Limit(1).Scan(ctx); err != nil {
			return 0, fmt.Errorf("roll back %s: %w", name, err)
		}
		if len(kept) == 0 {
			return 0, fmt.Errorf("roll back %s: %w", name, ErrNoGeneration)
		}
		at := generation.CheckpointOf(kept[0])
		taken, err := false, at.Fits(ctx, store, p.Filter)
		if err == nil {
			_, taken, err = generation.Switch(ctx, db.DB, store, p.Filter, at)
		}
		if taken {
			return at.Generation, nil
		}
		switch {
		case errors.Is(err, eventstore.ErrPositionInvalid): // it was built from another log
			return 0, err
		case err == nil:
			reason = ErrBehind
		case ctx.Err() != nil:
			reason = cmp.Or(reason, err)
		case !failure.Transient(err):
			return 0, err
		default:
			reason = err
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf(
				"roll back %s to generation %d, at %s: %w", name, at.Generation, at.Position,
				reason,
			)
		case <-time.After(progressInterval / 10):
		}
	}
}

// Prune removes the generations of a projection that do not serve and returns how many there were.
// It also removes a generation that is being built.
func Prune(ctx context.Context, db *readmodel.DB, name string) (int, error) {
	var gone []readmodel.Generation
	err := db.Locked(ctx, func(ctx context.Context) error {
		return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			const statement = "DELETE FROM linkledger.generations " +
				"WHERE name = ? AND NOT serving RETURNING *"
			if err := tx.NewRaw(statement, name).Scan(ctx, &gone); err != nil {
				return err
			}
			for _, g := range gone {
				if err := readmodel.DropTables(ctx, tx, g.Name, g.Generation); err != nil {
					return err
				}
			}
			return generation.WakeElections(ctx, tx, name)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("prune %s: %w", name, err)
	}
	return len(gone), nil
}

// AwaitShapes waits until readers see tables of this program's shape.
func AwaitShapes(ctx context.Context, db *readmodel.DB, names []string) error {
	missing := func(ctx context.Context) error { return missingShapes(ctx, db, names) }
	return waiting.During(ctx, "tables of this version", missing,
		func(ctx context.Context) error {
			for missing(ctx) != nil {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(progressInterval):
				}
			}
			return nil
		})
}

// missingShapes returns an error that names the projections that do not serve tables of this
// program's shape yet.
func missingShapes(ctx context.Context, db *readmodel.DB, names []string) error {
	var missing []string
	for _, name := range names {
		shape, err := readmodel.Shape(name)
		if err != nil {
			return err
		}
		g, err := generation.Serving(ctx, db, name)
		if err != nil {
			return err
		}
		if g.Shape != shape {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("a process with the role projector has to build: %s "+
		"(linkledger projections status shows how far it is)", strings.Join(missing, ", "))
}
