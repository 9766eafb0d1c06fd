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

// following is a reading of the log over a connection of its own.
type following struct {
	*wire.Reading
	conn *grpc.ClientConn
}

// follow opens a reading over a connection of its own.
func (s *Store) follow(ctx context.Context, options *streams.ReadReq_Options) (following, error) {
	conn, err := s.node.Connect(ctx)
	if err != nil {
		return following{}, err
	}
	reading, err := wire.Open(ctx, conn, options)
	if err != nil {
		return following{}, errors.Join(err, conn.Close())
	}
	return following{Reading: reading, conn: conn}, nil
}

// Close ends the reading.
func (f following) Close() { _ = f.conn.Close() } // it is open

// openLog reads the log from a position on, to its end.
func (s *Store) openLog(ctx context.Context, from Position) (following, error) {
	return s.follow(ctx, &streams.ReadReq_Options{
		StreamOption: wire.FromPosition(from),
		CountOption:  &streams.ReadReq_Options_Count{Count: math.MaxInt64},
	})
}

// Subscription is a subscription to the log. It ends with the context that it was opened with.
type Subscription struct {
	following

	store *Store
	from  Position
	// of the log before it was opened: once caught up, everything up to there has been delivered
	Head  Position
	begun bool // something came behind from
}

// Next waits for the next answer. Of events of the event store itself it tells no more than that
// they were passed.
func (s *Subscription) Next(ctx context.Context) (wire.Answer, error) {
	a, err := s.following.Next()
	if err != nil && !s.begun {
		// some servers confirm the subscription before they refuse it
		return a, s.store.positionFault(ctx, s.from, err)
	}
	s.begun = true
	if a.IsEvent && strings.HasPrefix(a.Event.Stream, "$") {
		a = wire.Answer{Checkpoint: a.Event.Position}
	}
	return a, err
}

// Subscribe opens a subscription to the log behind a position.
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
	opening, giveUp := context.WithCancelCause(ctx)
	patience := time.AfterFunc(s.cfg.AttemptTimeout, func() { giveUp(eventlog.ErrNoAnswer) })
	options := &streams.ReadReq_Options{
		StreamOption: wire.FromPosition(from),
		CountOption: &streams.ReadReq_Options_Subscription{
			Subscription: &streams.ReadReq_Options_SubscriptionOptions{},
		},
	}
	wire.ApplyFilter(filter, options)
	opened, err := s.follow(opening, options)
	if err == nil {
		if _, err = opened.Next(); err != nil { // the confirmation
			err = s.positionFault(opening, from, err)
		}
		if !patience.Stop() && err == nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, eventlog.ErrNoAnswer)
		}
		if err != nil {
			opened.Close()
		}
	}
	if err != nil {
		err = fmt.Errorf("subscribe: %w", err)
		giveUp(err)
		return nil, err
	}
	return &Subscription{following: opened, store: s, from: from, Head: head}, nil
}
