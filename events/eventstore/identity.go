package eventstore

// A log that was restored from a backup and then written on may have events at the positions that
// its readers know. Identities tell it from the log that they have read.

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/wire"
)

// Identity tells which event is at a position of the log. The zero Identity is that of no event.
type Identity struct {
	Position Position
	// ID is derived from the id of the event and the time when it was recorded. A client that
	// repeats an append after the restore of a backup stores the same event at another time.
	ID uuid.UUID
}

// IdentityOf returns the identity of an event.
func IdentityOf(r Recorded) Identity {
	at := binary.BigEndian.AppendUint64(nil, uint64(r.Time.UnixNano()))
	return Identity{Position: r.Position, ID: uuid.NewSHA1(r.ID, at)}
}

// IdentityAt returns the identity of the event at a position, in one attempt. It is zero if the
// event was removed from the log. IdentityAt returns ErrPositionInvalid if the position is not in
// the log.
func (s *Store) IdentityAt(ctx context.Context, at Position) (Identity, error) {
	page, err := s.reads.Try(ctx, wire.EventAt(at))
	if err != nil {
		return Identity{}, fmt.Errorf("event at %s: %w", at, s.classifyPositionError(ctx, at, err))
	}
	switch {
	case len(page) == 0:
		return Identity{}, noEventAt(at)
	case page[0].Position != at:
		return Identity{}, nil
	}
	return IdentityOf(page[0]), nil
}

// followingEvents is how many events Fits looks at after the last one that a reader knows.
const followingEvents = 16

// Fits checks whether what was read of the log up to a checkpoint, by a filter, is in the log. last
// is the last event that the reader knows to be in it, at the checkpoint or before. Fits returns
// ErrPositionInvalid if the log has another event there, or selected events between that event and
// the checkpoint, where the reader has seen none. It does not check whether the checkpoint itself
// is in the log: reading from there does. If the reader knows no event, Fits returns nil.
//
// A log is only ever cut at its end and then written on. So if it has one event that the reader
// knows, it has all before it.
func (s *Store) Fits(
	ctx context.Context, checkpoint Position, last Identity, filter Filter,
) error {
	if last.ID == uuid.Nil {
		return nil
	}
	found, err := node.Retry(ctx, s.cfg.Logger, s.answers,
		func(ctx context.Context) (Identity, error) { return s.IdentityAt(ctx, last.Position) },
	)
	if err != nil {
		return err
	}
	// No event, although the position is valid: the event store has removed it from a stream that
	// is cut, which proves nothing.
	if found != (Identity{}) && found != last {
		return otherEvent(last.Position)
	}
	if !checkpoint.After(last.Position) {
		return nil
	}
	page, err := node.Retry(ctx, s.cfg.Logger, s.answers,
		func(ctx context.Context) ([]Recorded, error) {
			return s.reads.Try(ctx, wire.SelectedFrom(last.Position, filter, followingEvents))
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

func otherEvent(at Position) error {
	return fmt.Errorf("%w: another event than before is at %s: %s",
		ErrPositionInvalid, at, invalidPositionHint)
}
