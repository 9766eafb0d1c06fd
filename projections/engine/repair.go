package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
)

const (
	// repairAfter is for how long the log lacks the checkpoint before another generation is begun.
	// A node of a cluster that has just become its leader may lack the last events for a moment.
	repairAfter = 2 * time.Second
	// misplacedInterval is how often a misplaced generation then looks whether the log has its
	// checkpoint.
	misplacedInterval = 15 * time.Second
)

// misplacement is since when the log lacks the checkpoint of a generation.
type misplacement struct {
	since, seen time.Time
}

// interrupted records why the subscription has ended. If the log has been found not to have the
// checkpoint for repairAfter, it begins the next generation, which is built beside this one and
// takes over. Nothing is lost by it: this generation is kept until an operator prunes it.
func (l *leaseholder) interrupted(ctx context.Context, err error) {
	l.status.Interrupt(err)
	if !errors.Is(err, eventstore.ErrPositionInvalid) {
		l.misplaced = misplacement{}
		return
	}
	now := time.Now()
	if now.Sub(l.misplaced.seen) > repairAfter {
		l.misplaced.since = now
	}
	l.misplaced.seen = now
	if now.Sub(l.misplaced.since) < repairAfter {
		return
	}
	if err := l.repair(ctx); err != nil && ctx.Err() == nil {
		l.cfg.Logger.WarnContext(ctx, "the build of another generation is not begun, trying again",
			append(l.attributes(), slog.Any("error", err))...)
		return
	}
	l.misplaced = misplacement{}
	select {
	case <-ctx.Done():
	case <-time.After(misplacedInterval):
	}
}

// repair begins the next generation, unless one is being built or this one does not serve.
func (l *leaseholder) repair(ctx context.Context) error {
	serving, err := generation.Serving(ctx, l.cfg.DB, l.at.Name)
	if err != nil || serving.Generation != l.at.Generation {
		return err
	}
	_, begun, err := generation.CreateBeside(ctx, l.cfg.DB, l.at.Name, "")
	if begun {
		l.cfg.Logger.WarnContext(
			ctx, "the log is older than the projection, which is built anew beside it",
			l.attributes()...,
		)
	}
	return err
}
