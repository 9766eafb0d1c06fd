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
	// repairAfter is how long the log must lack a checkpoint before the next generation is begun. A
	// node that has just become the leader of its cluster may lack the last events for a moment.
	repairAfter = 2 * time.Second
	// misplacedInterval is how often the owner looks for the checkpoint in the log after the next
	// generation was begun.
	misplacedInterval = 15 * time.Second
)

// misplacement records since when the log lacks the checkpoint of a generation. It is safe for
// concurrent use.
type misplacement struct {
	mu    sync.Mutex
	since time.Time // zero: the log has the checkpoint, or this is not known
}

// lasts records how an attempt to follow the log ended. ended is nil if a batch was applied. lasts
// returns true if the log has lacked the checkpoint for repairAfter or longer. The time between two
// attempts does not matter, because attempts are rare after a long outage.
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

// interrupted records why the subscription ended. If the log has lacked the checkpoint for
// repairAfter, it calls repair.
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

// checkpoint returns the position from which to follow the log. It fails if the generation was
// built from another log.
func (l *leaseholder) checkpoint(ctx context.Context) (eventstore.Position, error) {
	at, err := l.projector.Checkpoint(ctx)
	if err != nil {
		return eventstore.Position{}, err
	}
	return at.Position, at.Fits(ctx, l.cfg.Store, l.projection.Filter)
}

// handle applies a batch. If that succeeds, the log has the checkpoint, because it has sent the
// batch from there.
func (l *leaseholder) handle(m *message.Message) error {
	err := l.projector.Handle(m)
	if err == nil {
		l.misplaced.lasts(nil, time.Now())
	}
	return err
}

// repair replaces a generation whose checkpoint the log lacks. If this generation serves, repair
// begins the next one, unless one is being built already. The next one takes over when it has
// caught up. Nothing is lost, because this generation is kept until an operator prunes it. If this
// generation is being built, repair starts the build over.
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
			ctx, "the log lacks events of the projection, so its next generation is built",
			l.attributes()...,
		)
	}
	return err
}
