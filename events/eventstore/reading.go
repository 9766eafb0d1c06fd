package eventstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
)

// searchWindow is how many events the server looks at between two pages of a filtered subscription. The official
// client's default of 32 would cost a round of paging for every 32 events that do not match.
const searchWindow = 4096

// reading is a read of events, or a subscription to them. It ends with the context that it was opened with.
type reading struct {
	call streams.Streams_ReadClient
	decoder
}

// openReading asks for events. The first answer shows whether the event store gives them.
func openReading(ctx context.Context, conn *grpc.ClientConn, options *streams.ReadReq_Options) (*reading, error) {
	options.UuidOption = &streams.ReadReq_Options_UUIDOption{
		Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}},
	}
	if options.GetFilterOption() == nil {
		options.FilterOption = &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}}
	}
	call, err := streams.NewStreamsClient(conn).Read(ctx, &streams.ReadReq{Options: options}, grpc.ForceCodecV2(newCodec()))
	if err != nil {
		return nil, classify(err, nil)
	}
	return &reading{call: call, decoder: newDecoder()}, nil
}

// next waits for the next answer. At the end of a read it returns io.EOF.
func (r *reading) next() (answer, error) {
	var received wireBytes
	if err := r.call.RecvMsg(&received); err != nil {
		return answer{}, classify(err, r.call.Trailer())
	}
	return r.decode(received)
}

// following is a reading of the log over a connection of its own.
type following struct {
	*reading
	conn *grpc.ClientConn
}

// follow opens a reading over a connection of its own.
func (s *Store) follow(ctx context.Context, options *streams.ReadReq_Options) (following, error) {
	conn, err := s.node.connect(ctx)
	if err != nil {
		return following{}, err
	}
	reading, err := openReading(ctx, conn, options)
	if err != nil {
		return following{}, errors.Join(err, conn.Close())
	}
	return following{reading, conn}, nil
}

func (f following) close() { _ = f.conn.Close() } // it is open

// fromPosition begins at a position, whose event belongs to a read and not to a subscription. The zero position is the
// start of the log.
func fromPosition(position Position) *streams.ReadReq_Options_All {
	from := &streams.ReadReq_Options_AllOptions{AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}}}
	if position != (Position{}) {
		from.AllOption = &streams.ReadReq_Options_AllOptions_Position{Position: &streams.ReadReq_Options_Position{
			CommitPosition: position.Commit, PreparePosition: position.Prepare,
		}}
	}
	return &streams.ReadReq_Options_All{All: from}
}

// openLog reads the log from a position on, to its end.
func (s *Store) openLog(ctx context.Context, from Position) (following, error) {
	return s.follow(ctx, &streams.ReadReq_Options{
		StreamOption: fromPosition(from),
		CountOption:  &streams.ReadReq_Options_Count{Count: math.MaxInt64},
	})
}

// subscription is a subscription to streams.
type subscription struct {
	following

	store *Store
	from  Position
	head  Position // of the log before it was opened: once caught up, everything up to there has been delivered
	begun bool     // something came behind from
}

// next waits for the next answer. Of events of the event store itself it tells no more than that they were passed.
func (s *subscription) next(ctx context.Context) (answer, error) {
	a, err := s.following.next()
	if err != nil && !s.begun {
		return a, s.store.positionFault(ctx, s.from, err) // some servers confirm the subscription before they refuse it
	}
	s.begun = true
	if a.isEvent && strings.HasPrefix(a.event.Stream, "$") {
		a = answer{checkpoint: a.event.Position}
	}
	return a, err
}

// subscribe opens a subscription to the log behind a position.
func (s *Store) subscribe(ctx context.Context, from Position, filter Filter) (*subscription, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	if from.After(head) {
		return nil, beyondEnd(head, from)
	}
	opening, giveUp := context.WithCancelCause(ctx)
	patience := time.AfterFunc(s.cfg.AttemptTimeout, func() { giveUp(errNoAnswer) })
	options := &streams.ReadReq_Options{
		StreamOption: fromPosition(from),
		CountOption:  &streams.ReadReq_Options_Subscription{Subscription: &streams.ReadReq_Options_SubscriptionOptions{}},
	}
	filter.apply(options)
	opened, err := s.follow(opening, options)
	if err == nil {
		if _, err = opened.next(); err != nil { // the confirmation
			err = s.positionFault(opening, from, err)
		}
		if !patience.Stop() && err == nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, errNoAnswer)
		}
		if err != nil {
			opened.close()
		}
	}
	if err != nil {
		err = fmt.Errorf("subscribe: %w", err)
		giveUp(err)
		return nil, err
	}
	return &subscription{following: opened, store: s, from: from, head: head}, nil
}
