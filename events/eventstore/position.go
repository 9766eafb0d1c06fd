package eventstore

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/wire"
)

// whyInvalid says how a position comes to be in no log, and what to do.
const whyInvalid = "it is of another log, or the event store was reset or restored from a backup " +
	"that is older; " +
	"what was read up to there is to be read anew from the start of the log (projections rebuild " +
	"NAME for a projection)"

// positionFault tells an outage from a position at which no event begins, by what a reading from
// that position met before its first event.
//
// To such a position the servers say different things: INVALID_ARGUMENT, which is clear, or
// UNKNOWN, which they also say in an outage. Then the end of the log is asked for, and after it the
// event at the position. It is not an outage that refuses the position, has the end of the log, and
// refuses the position again.
func (s *Store) positionFault(ctx context.Context, at Position, met error) error {
	if at == (Position{}) { // begins every log
		return met
	}
	if errors.Is(met, ErrInvalid) {
		return noEventAt(at)
	}
	if !eventlog.HasCode(met, codes.Unknown) {
		return met
	}
	if _, err := s.reads.Try(ctx, wire.LastOfLog()); err != nil {
		return met
	}
	_, err := s.reads.Try(ctx, wire.EventAt(at))
	if eventlog.HasCode(err, codes.Unknown) || errors.Is(err, ErrInvalid) {
		return noEventAt(at)
	}
	return met
}

func noEventAt(at Position) error {
	return fmt.Errorf("%w: no event begins at %s: %s", ErrPositionInvalid, at, whyInvalid)
}

// endedEarly tells why a reading of the log came to its end at a position and not at the one up to
// which it was to go. Where the log itself is shorter, that is ErrPositionInvalid; where it is not,
// as on a node that has just become the leader, ErrUnavailable: the rest is still to come.
func (s *Store) endedEarly(ctx context.Context, behind, upTo, at Position) error {
	if !upTo.After(at) {
		return nil
	}
	last, err := s.reads.Try(ctx, wire.LastOfLog())
	if err != nil {
		return err
	}
	var head Position
	if len(last) > 0 {
		head = last[0].Position
	}
	for _, wanted := range []Position{behind, upTo} {
		if wanted.After(head) {
			return beyondEnd(head, wanted)
		}
	}
	if !upTo.After(behind) { // nothing was to come
		return nil
	}
	return fmt.Errorf("%w: it has sent the log up to %s and not to %s", ErrUnavailable, at, upTo)
}

func beyondEnd(head, wanted Position) error {
	return fmt.Errorf(
		"%w: the log ends at %s, before %s: %s", ErrPositionInvalid, head, wanted, whyInvalid,
	)
}
