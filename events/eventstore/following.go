package eventstore

import (
	"context"
	"fmt"
	"time"

	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/wire"
)

// Following is what the log has after a position.
type Following struct {
	// First is the position of the first event that a filter selects; zero: there is none up to
	// Head.
	First Position
	At    time.Time // when that event was recorded
	// Last is the position of the last event that the filter selects, or zero. If More is true,
	// further ones may follow it.
	Last Position
	More bool
	Head Position // the end of the log, read after the call began
}

// mostFollowing is how many events a call looks at. Read models that keep up lack fewer.
const mostFollowing = 64

// Following finds the events that a filter selects after a position. It returns
// ErrPositionInvalid if the position is not in the log, and ErrUnavailable if the context ended
// during an outage.
func (s *Store) Following(
	ctx context.Context, behind Position, filter Filter,
) (Following, error) {
	found, err := node.Retry(ctx, s.cfg.Logger, s.answers,
		func(ctx context.Context) (Following, error) {
			return s.tryFollowing(ctx, behind, filter)
		},
	)
	if err != nil {
		return Following{}, fmt.Errorf("look for events after %s: %w", behind, err)
	}
	return found, nil
}

func (s *Store) tryFollowing(
	ctx context.Context, behind Position, filter Filter,
) (f Following, err error) {
	last, err := s.reads.Try(ctx, wire.LastOfLog())
	if err != nil {
		return Following{}, err
	}
	if len(last) > 0 {
		f.Head = last[0].Position
	}
	if behind.After(f.Head) {
		return Following{}, beyondEnd(f.Head, behind)
	}
	page, err := s.reads.Try(ctx, wire.SelectedFrom(behind, filter, mostFollowing))
	if err != nil {
		return Following{}, s.classifyPositionError(ctx, behind, err)
	}
	for _, r := range page { // the read includes the event at the position
		if !r.Position.After(behind) {
			continue
		}
		if f.First == (Position{}) {
			f.First, f.At = r.Position, r.Time
		}
		f.Last = r.Position
	}
	f.More = len(page) == mostFollowing
	return f, nil
}
