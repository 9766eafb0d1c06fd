package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// decodedBatch holds the events of a batch by what happens to them.
type decodedBatch struct {
	events  []projection.Event
	letters []deadletter.Letter   // in the order of the log
	skipped []eventstore.Recorded // not written by Linkledger
}

// decode decodes events. An event that cannot be decoded becomes a dead letter under any policy,
// and so do the later events of its stream: a damaged stream MUST NOT stop the projection of all
// others.
func (p *Projector) decode(recorded []eventstore.Recorded) decodedBatch {
	s := decodedBatch{events: make([]projection.Event, 0, len(recorded))}
	var parked map[string]struct{} // by this batch
	for i, r := range recorded {
		if !p.projection.Raw && projection.IsForeign(r) {
			s.skipped = append(s.skipped, r)
			continue
		}
		if _, now := parked[r.Stream]; now || p.isParked(r) {
			s.letters = append(
				s.letters, deadletter.Letter{Recorded: r, Cause: deadletter.ErrFollows},
			)
			continue
		}
		f := projection.Event{Recorded: r, Index: i}
		if !p.projection.Raw {
			var err error
			if f.Body, err = r.Event(); err != nil {
				// The outer error names the event, and so does the dead letter.
				cause := fmt.Errorf("%w: %w", deadletter.ErrUnreadable, errors.Unwrap(err))
				s.letters = append(s.letters, deadletter.Letter{Recorded: r, Cause: cause})
				if parked == nil {
					parked = make(map[string]struct{})
				}
				parked[r.Stream] = struct{}{}
				continue
			}
		}
		s.events = append(s.events, f)
	}
	return s
}

// recordSetAside logs and counts the events that were not applied, and adds the streams of dead
// letters to the parked ones.
func (p *Projector) recordSetAside(
	ctx context.Context, letters []deadletter.Letter, skipped []eventstore.Recorded,
) {
	for _, r := range skipped {
		p.logger.WarnContext(
			ctx, "event skipped that Linkledger did not write: run linkledger audit verify",
			p.attributes(r)...,
		)
	}
	for _, l := range letters {
		if _, known := p.parked[l.Stream]; !known {
			p.logger.ErrorContext(ctx, "event set aside, with what follows in its stream: see "+
				"linkledger projections dead-letters",
				append(p.attributes(l.Recorded), slog.Any("error", l.Cause))...)
			p.parked[l.Stream] = struct{}{}
		}
	}
	p.status.SetAside(len(letters), len(skipped))
}

func (p *Projector) attributes(r eventstore.Recorded) []any {
	return []any{
		slog.String("projection", p.projection.Name), slog.String("stream", r.Stream),
		slog.Int64("revision", int64(r.Revision)),
		slog.String("type", r.Type), slog.String("position", r.Position.String()),
	}
}

func (p *Projector) isParked(r eventstore.Recorded) bool {
	_, ok := p.parked[r.Stream]
	return ok
}

// park sets an event aside in the transaction that moves the checkpoint past it. If the generation
// does not serve, it returns false and changes nothing.
func (p *Projector) park(
	ctx context.Context, r eventstore.Recorded, to eventstore.Position, cause error,
) (bool, error) {
	errNotServing := errors.New("not serving")
	letters := []deadletter.Letter{{Recorded: r, Cause: cause}}
	readNothing := func(*sqlbatch.Batch) {}
	write := func(s *sqlbatch.Batch, serving bool) ([]string, error) {
		if !serving {
			return nil, errNotServing
		}
		deadletter.Insert(s, p.at, letters)
		return nil, nil
	}
	_, _, err := p.transact(ctx, to, readNothing, write)
	if errors.Is(err, errNotServing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.recordSetAside(ctx, letters, nil)
	p.afterCommit(span{to: to}, true, nil)
	return true, nil
}
