package logreader

// Readers check whether the log still has the events that they have read.

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/wire"
)

// IdentityAt returns the identity of the event at a position, in one attempt. The identity is zero
// if the event was removed from the log. IdentityAt returns ErrPositionInvalid if the position is
// not in the log.
func (l *Reader) IdentityAt(ctx context.Context, at eventlog.Position) (eventlog.Identity, error) {
	page, err := l.cfg.Pages.Try(ctx, wire.EventAt(at))
	if err != nil {
		err = l.classifyPositionError(ctx, at, err)
		return eventlog.Identity{}, fmt.Errorf("event at %s: %w", at, err)
	}
	switch {
	case len(page) == 0:
		return eventlog.Identity{}, noEventAt(at)
	case page[0].Position != at:
		return eventlog.Identity{}, nil
	}
	return eventlog.IdentityOf(page[0]), nil
}

// followingEvents is how many events Fits looks at after the last one that a reader knows.
const followingEvents = 16

// Fits checks whether the log is the one that a reader has read. The reader has read the events
// that filter selects, up to checkpoint. last is the last event that the reader knows, at
// checkpoint or before. Fits returns ErrPositionInvalid if the log has another event at the
// position of last, or if it has selected events between last and checkpoint, because the reader
// has seen none there. Fits does not check whether checkpoint itself is in the log, because reading
// from there does. If last is zero, Fits returns nil.
//
// A log changes only if its end is cut off and new events are appended. So if it has one event that
// the reader knows, it has all events before it.
func (l *Reader) Fits(
	ctx context.Context, checkpoint eventlog.Position, last eventlog.Identity,
	filter eventlog.Filter,
) error {
	if last.ID == uuid.Nil {
		return nil
	}
	found, err := node.Retry(ctx, l.cfg.Logger, l.cfg.Store,
		func(ctx context.Context) (eventlog.Identity, error) {
			return l.IdentityAt(ctx, last.Position)
		},
	)
	if err != nil {
		return err
	}
	// A zero identity means that the event store has removed the event from a cut stream. The log
	// may still be the same, so only a different event is an error.
	if found != (eventlog.Identity{}) && found != last {
		return otherEvent(last.Position)
	}
	if !checkpoint.After(last.Position) {
		return nil
	}
	page, err := node.Retry(ctx, l.cfg.Logger, l.cfg.Store,
		func(ctx context.Context) ([]eventlog.Recorded, error) {
			return l.cfg.Pages.Try(ctx, wire.SelectedFrom(last.Position, filter, followingEvents))
		},
	)
	if err != nil {
		return err
	}
	for _, r := range page { // a follower gets no event of the store's own streams
		if r.Position.After(last.Position) && !strings.HasPrefix(r.Stream, "$") {
			if !r.Position.After(checkpoint) {
				return otherEvent(r.Position)
			}
			break
		}
	}
	return nil
}

func otherEvent(at eventlog.Position) error {
	return fmt.Errorf("%w: another event than before is at %s: %s",
		eventlog.ErrPositionInvalid, at, invalidPositionHint)
}
