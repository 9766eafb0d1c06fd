package eventstore

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Backlog is what lies in the log behind a checkpoint and is still to be applied.
type Backlog struct {
	Events int       // those that match; an estimate where there were more than were counted
	Oldest time.Time // when the first of them was recorded; zero if there is none
}

// Backlog counts the events that a filter selects behind a position, as the event store has them: it looks at no
// more than a number of them, and estimates the rest from the place of the last one. An event that does not match
// leaves nobody behind.
func (s *Store) Backlog(ctx context.Context, behind Position, filter Filter, most int) (Backlog, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	subscription, err := s.subscribe(ctx, behind, filter)
	if err != nil {
		return Backlog{}, err
	}
	defer subscription.close()
	var b Backlog
	for {
		received, err := subscription.next()
		switch {
		case err != nil:
			return Backlog{}, fmt.Errorf("count the events behind %s: %w", behind, err)
		case received.caughtUp:
			return b, nil
		case received.isEvent:
			event := received.event
			if b.Events++; b.Events == 1 {
				b.Oldest = event.Time
			}
			if b.Events == most {
				b.Events = extrapolate(b.Events, behind, event.Position, subscription.head)
				return b, nil
			}
		}
	}
}

// extrapolate estimates how many events lie between two places from how many lie in the first part.
func extrapolate(counted int, from, at, to Position) int {
	if at.Commit <= from.Commit || to.Commit <= at.Commit {
		return counted
	}
	return int(math.Round(float64(counted) * float64(to.Commit-from.Commit) / float64(at.Commit-from.Commit)))
}
