package progress

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linkledger/projections/readmodel"
)

// demandInterval is the time after which a demand is sent to the projectors again, because a
// projector that has taken over meanwhile has not received it.
const demandInterval = 100 * time.Millisecond

// demandState is how far readers of this process have demanded that a projection goes on without
// delay. Its positions are commit positions.
type demandState struct {
	position    uint64 // the highest position demanded
	announced   uint64 // the highest position sent to the projectors
	announcedAt time.Time
}

// WaitUndelayed is WaitOwned for a projection whose projector delays events while no caller waits
// for them. It notifies the projector, which may run in another process, that a caller waits.
// Demands that arrive while the projector works on an earlier demand are sent together when the
// projector has finished.
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

// registerDemand records a demand. It returns the commit position up to which demands are sent, and
// whether the caller has to send that position.
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
