package logreader

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/wire"
)

// Backlog describes the events of the log that a reader has not applied yet.
type Backlog struct {
	Events int       // matching events; an estimate if there are more than the limit
	Oldest time.Time // when the first of them was recorded, or zero if there is none
}

// Backlog counts the events that a filter selects after a position. It reads at most limit matching
// events, and estimates how many follow from the position of the last event that it has read.
// Events that do not match do not count.
func (l *Reader) Backlog(
	ctx context.Context, behind eventlog.Position, filter eventlog.Filter, limit int,
) (Backlog, error) {
	var b Backlog
	err := l.scan(ctx, behind, filter, func(a wire.Response, head eventlog.Position) bool {
		if b.Events++; b.Events == 1 {
			b.Oldest = a.Event.Time
		}
		if b.Events == limit {
			b.Events = extrapolate(b.Events, behind, a.Event.Position, head)
			return false
		}
		return true
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("count the events after %s: %w", behind, err)
	}
	return b, nil
}

// LogID returns an id that differs between logs, also between a log and its copy, and that changes
// after a reset. It is derived from the first event in a stream of a user name or an account: from
// its id, its position and the time when this event store recorded it. While there is no such
// event, the id is zero.
func (l *Reader) LogID(ctx context.Context) (uuid.UUID, error) {
	var id uuid.UUID
	accounts := eventlog.Filter{Streams: []string{events.StreamUsername, events.StreamAccount}}
	var start eventlog.Position
	err := l.scan(ctx, start, accounts, func(a wire.Response, _ eventlog.Position) bool {
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

// scan calls visit with the events that a filter selects after a position, until there are no more
// or visit returns false.
func (l *Reader) scan(
	ctx context.Context, behind eventlog.Position, filter eventlog.Filter,
	visit func(a wire.Response, head eventlog.Position) bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	subscription, err := l.Subscribe(ctx, behind, filter)
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

// extrapolate estimates the number of events between the positions from and to, given that counted
// events lie between from and at.
func extrapolate(counted int, from, at, to eventlog.Position) int {
	if at.Commit <= from.Commit || to.Commit <= at.Commit {
		return counted
	}
	all, part := float64(to.Commit-from.Commit), float64(at.Commit-from.Commit)
	return int(math.Round(float64(counted) * all / part))
}
