package projector

import (
	"context"
	"log/slog"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/failure"
	"linkledger/projections/projection"
)

// sort decodes events, and separates the ones that are not applied.
func (p *Projector) sort(recorded []eventstore.Recorded) deadletter.Sorted {
	return deadletter.Sort(p.cfg.Definition, p.discarded, p.parked, recorded)
}

// recordSetAside logs and counts the events that were not applied, and adds the streams of dead
// letters to the parked ones.
func (p *Projector) recordSetAside(
	ctx context.Context, letters []deadletter.Letter, skipped []eventstore.Recorded,
) {
	for _, r := range skipped {
		p.cfg.Logger.WarnContext(
			ctx, "event skipped that Linkledger did not write: run linkledger audit verify",
			p.attributes(r)...,
		)
	}
	for _, l := range letters {
		if _, known := p.parked[l.Stream]; !known {
			p.cfg.Logger.ErrorContext(ctx, "event set aside, with the later events of its "+
				"stream: see linkledger projections dead-letters",
				append(p.attributes(l.Recorded), slog.Any("error", l.Cause))...)
			p.parked[l.Stream] = struct{}{}
		}
	}
	p.cfg.Status.SetAside(len(letters), len(skipped))
	p.cfg.Status.SetParked(len(p.parked))
}

func (p *Projector) attributes(r eventstore.Recorded) []any {
	return []any{
		slog.String("projection", p.cfg.Definition.Name), slog.String("stream", r.Stream),
		slog.Int64("revision", int64(r.Revision)),
		slog.String("type", r.Type), slog.String("position", r.Position.String()),
	}
}

// park sets an event aside in the transaction that moves the checkpoint past the event. If an
// operator has discarded the event, park only moves the checkpoint. In both cases an event that
// ends rights is applied as far as possible.
func (p *Projector) park(
	ctx context.Context, r eventstore.Recorded, to eventstore.Position, cause error,
) error {
	var letters []deadletter.Letter
	if !p.discarded.Has(r) {
		letters = []deadletter.Letter{{Recorded: r, Cause: cause}}
	}
	at := span{to: to, witness: eventlog.IdentityOf(r)}
	if event, ok := p.cfg.Definition.Detached(r, 0); ok {
		ending := deadletter.Sorted{Events: []projection.Event{event}, Letters: letters}
		if err := p.commitDecoded(ctx, p.folds.Next(), ending, at); !failure.OfEvent(err) {
			return err
		}
	}
	return p.commitDecoded(ctx, p.folds.Next(), deadletter.Sorted{Letters: letters}, at)
}
