package eventstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore/wire"
)

// Backlog is what lies in the log behind a checkpoint and is still to be applied.
type Backlog struct {
	Events int       // those that match; an estimate where there were more than were counted
	Oldest time.Time // when the first of them was recorded; zero if there is none
}

// Backlog counts the events that a filter selects behind a position, as the event store has them:
// it looks at no more than a number of them, and estimates the rest from the place of the last one.
// An event that does not match leaves nobody behind.
func (s *Store) Backlog(
	ctx context.Context, behind Position, filter Filter, most int,
) (Backlog, error) {
	var b Backlog
	err := s.scan(ctx, behind, filter, func(a wire.Answer, head Position) bool {
		if b.Events++; b.Events == 1 {
			b.Oldest = a.Event.Time
		}
		if b.Events == most {
			b.Events = extrapolate(b.Events, behind, a.Event.Position, head)
			return false
		}
		return true
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("count the events behind %s: %w", behind, err)
	}
	return b, nil
}

// LogID tells one log from another, also from a copy of it, and a log from itself after it was
// reset: by the first event of an account, when it was stored and where. It is the zero id while
// there is none.
func (s *Store) LogID(ctx context.Context) (uuid.UUID, error) {
	var id uuid.UUID
	accounts := Filter{Streams: []string{events.StreamUsername, events.StreamAccount}}
	err := s.scan(ctx, Position{}, accounts, func(a wire.Answer, _ Position) bool {
		id = uuid.NewSHA1(
			a.Event.ID, fmt.Appendf(nil, "%d %d", a.Event.Position.Commit, a.Stored.UnixNano()),
		)
		return false
	})
	if err != nil {
		return uuid.Nil, fmt.Errorf("first event of the log: %w", err)
	}
	return id, nil
}

// scan visits the events that a filter selects behind a position until there are no more or visit
// has enough.
func (s *Store) scan(
	ctx context.Context, behind Position, filter Filter,
	visit func(a wire.Answer, head Position) bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	subscription, err := s.Subscribe(ctx, behind, filter)
	if err != nil {
		return err
	}
	defer subscription.Close()
	for {
		received, err := subscription.Next(ctx)
		switch {
		case err != nil:
			return err
		case received.CaughtUp:
			return nil
		case received.IsEvent:
			if !visit(received, subscription.Head) {
				return nil
			}
		}
	}
}

// extrapolate estimates how many events lie between two places from how many lie in the first part.
func extrapolate(counted int, from, at, to Position) int {
	if at.Commit <= from.Commit || to.Commit <= at.Commit {
		return counted
	}
	return int(
		math.Round(
			float64(counted) * float64(to.Commit-from.Commit) / float64(at.Commit-from.Commit),
		),
	)
}
