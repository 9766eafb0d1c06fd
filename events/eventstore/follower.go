package eventstore

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
func (s *Store) follow(ctx context.Context, options *streams.ReadReq_Options) (follower, error) {
	conn, err := s.node.Connect(ctx)
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
func (s *Store) openLog(ctx context.Context, from Position) (follower, error) {
	return s.follow(ctx, &streams.ReadReq_Options{
		StreamOption: wire.FromPosition(from),
		CountOption:  &streams.ReadReq_Options_Count{Count: math.MaxInt64},
	})
}

// Subscription is a subscription to the log. It ends with the context that it was opened with.
type Subscription struct {
	follower

	store *Store
	from  Position
	// Head is the end of the log before the subscription opened. After the subscription has
	// caught up, it has delivered everything up to Head.
	Head  Position
	begun bool // a response was received after the confirmation
}

// Next waits for the next response. It replaces events of the event store itself with checkpoints
// at their positions.
func (s *Subscription) Next(ctx context.Context) (wire.Response, error) {
	a, err := s.follower.Next()
	if err != nil && !s.begun {
		// some servers confirm the subscription before they reject its position
		return a, s.store.classifyPositionError(ctx, s.from, err)
	}
	s.begun = true
	if a.IsEvent && strings.HasPrefix(a.Event.Stream, "$") {
		a = wire.Response{Checkpoint: a.Event.Position}
	}
	return a, err
}

// Subscribe opens a subscription to the log after a position. It returns ErrPositionInvalid if the
// position is not in the log.
func (s *Store) Subscribe(
	ctx context.Context, from Position, filter Filter,
) (*Subscription, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	if from.After(head) {
		return nil, beyondEnd(head, from)
	}
	openCtx, cancel := context.WithCancelCause(ctx)
	timeout := time.AfterFunc(s.cfg.AttemptTimeout, func() { cancel(eventlog.ErrNoAnswer) })
	options := &streams.ReadReq_Options{
		StreamOption: wire.FromPosition(from),
		CountOption: &streams.ReadReq_Options_Subscription{
			Subscription: &streams.ReadReq_Options_SubscriptionOptions{},
		},
	}
	wire.ApplyFilter(filter, options)
	opened, err := s.follow(openCtx, options)
	if err == nil {
		if _, err = opened.Next(); err != nil { // the confirmation of the subscription
			err = s.classifyPositionError(openCtx, from, err)
		}
		if !timeout.Stop() && err == nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, eventlog.ErrNoAnswer)
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
	return &Subscription{follower: opened, store: s, from: from, Head: head}, nil
}
