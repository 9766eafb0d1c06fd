package logreader

import (
	"context"
	"fmt"
	"time"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/wire"
)

// Following is what the log has after a position.
type Following struct {
	// First is the position of the first event that a filter selects; zero: there is none up to
	// Head.
	First eventlog.Position
	At    time.Time // when that event was recorded
	// Last is the position of the last event that the filter selects, or zero if there is none. If
	// More is true, further selected events may follow it.
	Last eventlog.Position
	More bool
	Head eventlog.Position // the end of the log, read after the call began
}

// mostFollowing is how many events a call of Following reads. A read model that keeps up lacks
// fewer events than this.
const mostFollowing = 64

// Following finds the events that a filter selects after a position. It returns
// ErrPositionInvalid if the position is not in the log, and ErrUnavailable if the context ended
// during an outage.
func (l *Reader) Following(
	ctx context.Context, behind eventlog.Position, filter eventlog.Filter,
) (Following, error) {
	found, err := node.Retry(ctx, l.cfg.Logger, l.cfg.Store,
		func(ctx context.Context) (Following, error) {
			return l.tryFollowing(ctx, behind, filter)
		},
	)
	if err != nil {
		return Following{}, fmt.Errorf("look for events after %s: %w", behind, err)
	}
	return found, nil
}

func (l *Reader) tryFollowing(
	ctx context.Context, behind eventlog.Position, filter eventlog.Filter,
) (f Following, err error) {
	last, err := l.cfg.Pages.Try(ctx, wire.LastOfLog())
	if err != nil {
		return Following{}, err
	}
	if len(last) > 0 {
		f.Head = last[0].Position
	}
	if behind.After(f.Head) {
		return Following{}, beyondEnd(f.Head, behind)
	}
	page, err := l.cfg.Pages.Try(ctx, wire.SelectedFrom(behind, filter, mostFollowing))
	if err != nil {
		return Following{}, l.classifyPositionError(ctx, behind, err)
	}
	for _, r := range page { // the read includes the event at the position
		if !r.Position.After(behind) {
			continue
		}
		if f.First == (eventlog.Position{}) {
			f.First, f.At = r.Position, r.Time
		}
		f.Last = r.Position
	}
	f.More = len(page) == mostFollowing
	return f, nil
}
