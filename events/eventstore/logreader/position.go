package logreader

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/wire"
)

// invalidPositionHint explains why a position is not in the log, and what to do.
const invalidPositionHint = "it is of another log, or the event store was reset or " +
	"restored from an older backup; what was read up to there must be read again from the " +
	"start of the log (projections rebuild NAME for a projection)"

// classifyPositionError distinguishes an outage from a position at which no event begins. met is
// the error that a read from the position returned before its first event.
//
// Servers answer such a read with INVALID_ARGUMENT, which is clear, or with UNKNOWN, which they
// also return in an outage. After UNKNOWN, classifyPositionError reads the end of the log and then
// the event at the position. If the server returns the end of the log and rejects the position
// again, there is no outage, and the error is ErrPositionInvalid.
func (l *Reader) classifyPositionError(ctx context.Context, at eventlog.Position, met error) error {
	if at == (eventlog.Position{}) { // the start of every log
		return met
	}
	if errors.Is(met, eventlog.ErrInvalid) {
		return noEventAt(at)
	}
	if !eventlog.HasCode(met, codes.Unknown) {
		return met
	}
	if _, err := l.cfg.Pages.Try(ctx, wire.LastOfLog()); err != nil {
		return met
	}
	_, err := l.cfg.Pages.Try(ctx, wire.EventAt(at))
	if eventlog.HasCode(err, codes.Unknown) || errors.Is(err, eventlog.ErrInvalid) {
		return noEventAt(at)
	}
	return met
}

func noEventAt(at eventlog.Position) error {
	return fmt.Errorf(
		"%w: no event begins at %s: %s", eventlog.ErrPositionInvalid, at, invalidPositionHint,
	)
}

// checkReadEnd returns an error if a read of the log ended at a position before upTo. If the log
// itself is shorter, the error is ErrPositionInvalid. Otherwise, for example on a node that has
// just become the leader, it is ErrUnavailable: the remaining events will still arrive.
func (l *Reader) checkReadEnd(ctx context.Context, behind, upTo, at eventlog.Position) error {
	if !upTo.After(at) {
		return nil
	}
	last, err := l.cfg.Pages.Try(ctx, wire.LastOfLog())
	if err != nil {
		return err
	}
	var head eventlog.Position
	if len(last) > 0 {
		head = last[0].Position
	}
	for _, wanted := range []eventlog.Position{behind, upTo} {
		if wanted.After(head) {
			return beyondEnd(head, wanted)
		}
	}
	if !upTo.After(behind) { // nothing was to be read
		return nil
	}
	return fmt.Errorf(
		"%w: it has sent the log up to %s and not up to %s", eventlog.ErrUnavailable, at, upTo,
	)
}

func beyondEnd(head, wanted eventlog.Position) error {
	return fmt.Errorf(
		"%w: the log ends at %s, before %s: %s",
		eventlog.ErrPositionInvalid, head, wanted, invalidPositionHint,
	)
}
