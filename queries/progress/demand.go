package progress

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linkledger/projections/readmodel"
)

// demandInterval is after how long the projectors are told of a demand again: one that takes over
// knows of nothing.
const demandInterval = 100 * time.Millisecond

// demandState is what readers of this process have demanded of a projection.
type demandState struct {
	position    uint64
	announced   uint64 // of it the projectors were told
	announcedAt time.Time
}

// Demand is WaitOwned for what the projector holds back while nobody waits for it: it is told that
// somebody does, wherever it runs. Those who demand while it is at work are told of together, as
// soon as it is done.
func (w *Waiter) Demand(ctx context.Context, projection string, position uint64) error {
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

// registerDemand notes a demand and returns up to where the projectors are told that somebody waits, and
// whether the caller has to tell.
func (w *Waiter) registerDemand(projection string, position uint64) (announced uint64, announce bool) {
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
