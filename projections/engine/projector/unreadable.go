package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/projection"
)

// decodedBatch holds the events of a batch by what happens to them.
type decodedBatch struct {
	events  []projection.Event
	letters []deadletter.Letter   // in the order of the log
	skipped []eventstore.Recorded // not written by Linkledger
}

// decode decodes events. An event that cannot be decoded becomes a dead letter, and so do the later
// events of its stream: a damaged stream MUST NOT stop the projection of all others.
func (p *Projector) decode(recorded []eventstore.Recorded) decodedBatch {
	s := decodedBatch{events: make([]projection.Event, 0, len(recorded))}
	var parked map[string]struct{} // by this batch
	for i, r := range recorded {
		if !p.projection.Raw && projection.IsForeign(r) {
			s.skipped = append(s.skipped, r)
			continue
		}
		discarded := p.discarded.Has(r)
		if discarded || follows(parked, r) || follows(p.parked, r) {
			if !discarded {
				s.letters = append(
					s.letters, deadletter.Letter{Recorded: r, Cause: deadletter.ErrFollows},
				)
			}
			if event, ok := p.projection.Detached(r, i); ok {
				s.events = append(s.events, event)
			}
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
	p.status.SetParked(len(p.parked))
}

func (p *Projector) attributes(r eventstore.Recorded) []any {
	return []any{
		slog.String("projection", p.projection.Name), slog.String("stream", r.Stream),
		slog.Int64("revision", int64(r.Revision)),
		slog.String("type", r.Type), slog.String("position", r.Position.String()),
	}
}

// follows reports whether an event depends on one of its stream that is set aside.
func follows(parked map[string]struct{}, r eventstore.Recorded) bool {
	_, ok := parked[r.Stream]
	return ok && !projection.Independent(r.Stream)
}

// park sets an event aside in the transaction that moves the checkpoint past it, unless an operator
// has given it up. An event that ends rights is applied as far as it can be.
func (p *Projector) park(
	ctx context.Context, r eventstore.Recorded, to eventstore.Position, cause error,
) error {
	var letters []deadletter.Letter
	if !p.discarded.Has(r) {
		letters = []deadletter.Letter{{Recorded: r, Cause: cause}}
	}
	at := span{to: to, witness: eventstore.IdentityOf(r)}
	if event, ok := p.projection.Detached(r, 0); ok {
		ending := decodedBatch{events: []projection.Event{event}, letters: letters}
		if err := p.commitDecoded(ctx, p.folds.Next(), ending, at); !OfEvent(err) {
			return err
		}
	}
	return p.commitDecoded(ctx, p.folds.Next(), decodedBatch{letters: letters}, at)
}
