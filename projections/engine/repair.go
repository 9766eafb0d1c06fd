package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

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

// misplacement is since when the log lacks the checkpoint of a generation. It is safe for
// concurrent use.
type misplacement struct {
	mu    sync.Mutex
	since time.Time // zero: it has the checkpoint, or that is not known
}

// lasts records how an attempt to follow the log has ended, nil: with a batch that was applied. It
// reports whether the log has lacked the checkpoint for repairAfter. How far the attempts are apart
// does not matter: after a long outage they are rare.
func (m *misplacement) lasts(ended error, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !errors.Is(ended, eventstore.ErrPositionInvalid):
		m.since = time.Time{}
	case m.since.IsZero():
		m.since = now
	default:
		return now.Sub(m.since) >= repairAfter
	}
	return false
}

// interrupted records why the subscription has ended. If the log has been found not to have the
// checkpoint for repairAfter, it begins the next generation, which is built beside this one and
// takes over. Nothing is lost by it: this generation is kept until an operator prunes it.
func (l *leaseholder) interrupted(ctx context.Context, err error) {
	l.status.Interrupt(err)
	if !l.misplaced.lasts(err, time.Now()) {
		return
	}
	if err := l.repair(ctx); err != nil && ctx.Err() == nil {
		l.cfg.Logger.WarnContext(ctx, "the build of another generation is not begun, trying again",
			append(l.attributes(), slog.Any("error", err))...)
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(misplacedInterval):
	}
}

// checkpoint returns the position from which to follow the log, once the log is known to be that
// from which the generation was built.
func (l *leaseholder) checkpoint(ctx context.Context) (eventstore.Position, error) {
	at, err := l.projector.Checkpoint(ctx)
	if err != nil {
		return eventstore.Position{}, err
	}
	return at.Position, at.Fits(ctx, l.cfg.Store, l.projection.Filter)
}

// handle applies a batch, which the log has sent from the checkpoint on.
func (l *leaseholder) handle(m *message.Message) error {
	err := l.projector.Handle(m)
	if err == nil {
		l.misplaced.lasts(nil, time.Now())
	}
	return err
}

// repair begins the next generation if this one serves, unless one is being built. A generation
// that is being built starts over.
func (l *leaseholder) repair(ctx context.Context) error {
	serving, err := generation.Serving(ctx, l.cfg.DB, l.at.Name)
	if err != nil {
		return err
	}
	if serving.Generation != l.at.Generation {
		return generation.StartOver(ctx, l.cfg.DB, l.at)
	}
	_, begun, err := generation.CreateBeside(ctx, l.cfg.DB, l.at.Name, "")
	if begun {
		l.cfg.Logger.WarnContext(
			ctx, "the log lacks events of the projection, which is built anew beside it",
			l.attributes()...,
		)
	}
	return err
}
