package logreader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/wire"
)

// follower is a read of the log over its own connection.
type follower struct {
	*wire.ReadStream
	conn *grpc.ClientConn
}

// follow opens a read over its own connection.
func (l *Reader) follow(ctx context.Context, options *streams.ReadReq_Options) (follower, error) {
	conn, err := l.cfg.Node.Connect(ctx)
	if err != nil {
		return follower{}, err
	}
	stream, err := wire.Open(ctx, conn, options)
	if err != nil {
		return follower{}, errors.Join(err, conn.Close())
	}
	return follower{ReadStream: stream, conn: conn}, nil
}

// Close ends the read.
func (f follower) Close() { _ = f.conn.Close() } // fails only if closed before

// openLog reads the log from a position to its end.
func (l *Reader) openLog(ctx context.Context, from eventlog.Position) (follower, error) {
	return l.follow(ctx, &streams.ReadReq_Options{
		StreamOption: wire.FromPosition(from),
		CountOption:  &streams.ReadReq_Options_Count{Count: math.MaxInt64},
	})
}

// Subscription is a subscription to the log. It ends with the context that it was opened with.
type Subscription struct {
	follower

	log  *Reader
	from eventlog.Position
	// Head is the end of the log before the subscription opened. After the subscription has
	// caught up, it has delivered everything up to Head.
	Head  eventlog.Position
	begun bool // a response was received after the confirmation
}

// Next waits for the next response. It replaces events of the event store itself with checkpoints
// at their positions.
func (s *Subscription) Next(ctx context.Context) (wire.Response, error) {
	a, err := s.follower.Next()
	if err != nil && !s.begun {
		// some servers confirm the subscription before they reject its position
		return a, s.log.classifyPositionError(ctx, s.from, err)
	}
	s.begun = true
	if a.IsEvent && strings.HasPrefix(a.Event.Stream, "$") {
		a = wire.Response{Checkpoint: a.Event.Position}
	}
	return a, err
}

// Subscribe opens a subscription to the log after a position. It returns ErrPositionInvalid if the
// position is not in the log.
func (l *Reader) Subscribe(
	ctx context.Context, from eventlog.Position, filter eventlog.Filter,
) (*Subscription, error) {
	head, err := l.Head(ctx)
	if err != nil {
		return nil, err
	}
	if from.After(head) {
		return nil, beyondEnd(head, from)
	}
	openCtx, cancel := context.WithCancelCause(ctx)
	timeout := time.AfterFunc(l.cfg.AttemptTimeout, func() { cancel(eventlog.ErrNoAnswer) })
	options := &streams.ReadReq_Options{
		StreamOption: wire.FromPosition(from),
		CountOption: &streams.ReadReq_Options_Subscription{
			Subscription: &streams.ReadReq_Options_SubscriptionOptions{},
		},
	}
	wire.ApplyFilter(filter, options)
	opened, err := l.follow(openCtx, options)
	if err == nil {
		if _, err = opened.Next(); err != nil { // the confirmation of the subscription
			err = l.classifyPositionError(openCtx, from, err)
		}
		if !timeout.Stop() && err == nil {
			err = fmt.Errorf("%w: %w", eventlog.ErrUnavailable, eventlog.ErrNoAnswer)
		}
		if err != nil {
			opened.Close()
		}
	}
	if err != nil {
		err = fmt.Errorf("subscribe: %w", err)
		cancel(err)
		return nil, err
	}
	return &Subscription{follower: opened, log: l, from: from, Head: head}, nil
}
