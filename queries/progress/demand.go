package progress

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linkledger/projections/readmodel"
)

// demandInterval is after how long a demand is announced to the projectors again: a projector that
// takes over has not received the announcement.
const demandInterval = 100 * time.Millisecond

// demandState is what readers of this process have demanded of a projection.
type demandState struct {
	position    uint64
	announced   uint64 // the highest position announced to the projectors
	announcedAt time.Time
}

// WaitUndelayed is WaitOwned for a projection whose projector delays events while no caller waits
// for them. It announces to the projector, which may run in another process, that a caller waits.
// Demands that arrive while the projector is busy are announced together when it has finished.
func (w *Waiter) WaitUndelayed(ctx context.Context, projection string, position uint64) error {
	for {
		announced, announce := w.registerDemand(projection, position)
		if announce {
			if _, err := w.db.NewRaw(
				"SELECT pg_notify(?, ?)", readmodel.ControlChannel,
				fmt.Sprint(projection, " ", announced),
			).Exec(ctx); err != nil {
				return fmt.Errorf("demand %s: %w", projection, err)
			}
		}
		waiting, cancel := context.WithTimeout(ctx, demandInterval)
		err := w.WaitOwned(waiting, projection, min(announced, position))
		cancel()
		if err == nil && announced >= position {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrUnowned) {
			return err
		}
	}
}

// registerDemand records a demand. It returns the position up to which demands are announced, and
// whether the caller must announce it.
func (w *Waiter) registerDemand(
	projection string, position uint64,
) (announced uint64, announce bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.state(projection)
	if position <= p.position {
		return position, false
	}
	d := &p.demand
	d.position = max(d.position, position)
	if d.announced > p.position && time.Since(d.announcedAt) < demandInterval {
		return d.announced, false
	}
	d.announced, d.announcedAt = d.position, time.Now()
	return d.announced, true
}
