// Package subscription follows the log of an event store as a watermill Subscriber, in batches of
// events. It is the only package of the event store client that uses watermill.
package subscription

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/semaphore"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/logreader"
)

const (
	// positionInterval is the minimum time between two batches without events, which only move the
	// checkpoint past events that do not match.
	positionInterval = time.Second
	// catchUpInterval is the maximum time between two whole batches of a subscription that catches
	// up, with Config.NeverAwaited.
	catchUpInterval = time.Second
	// delayShare limits the time that is spent on batches of delayed events to one part in this
	// many. The longer the last batch took, the longer the next one is delayed.
	delayShare = 10
	// demandedDelayShare is the delayShare of demanded events.
	demandedDelayShare = 2
	// maxDemandedDelay is the maximum time between two batches of demanded events, regardless of
	// how long the batches take.
	maxDemandedDelay = 100 * time.Millisecond
	// DefaultMinDelay is the default of Config.MinDelay.
	DefaultMinDelay = 10 * time.Millisecond
	// DefaultMaxDelay is the default of Config.MaxDelay.
	DefaultMaxDelay = 500 * time.Millisecond
	// maxRetryInterval is the longest pause, plus or minus a half, before a failed subscription is
	// opened again. Subscriptions therefore resume soon after an outage or a full disk.
	maxRetryInterval = time.Second
	// maxBatchBytes is the total size of event bodies at which a batch ends, even if it has fewer
	// than Config.BatchSize events.
	maxBatchBytes = 8 << 20
	// partBytes is the total size of event bodies at which a part of a batch ends.
	partBytes = 256 << 10
	// maxArrivals limits the number of events that wait while a batch is applied. maxBatchBytes
	// limits the bytes of their bodies.
	maxArrivals = 2000
	// DefaultBatchSize is the default of Config.BatchSize.
	DefaultBatchSize = 1000
)

// Batch is the content of one watermill message of a Subscriber. A batch without events only moves
// the checkpoint.
type Batch struct {
	Events []eventstore.Recorded
	// Position is the position up to which all matching events are in this batch or an earlier one.
	Position eventstore.Position
	// CaughtUp means that this batch completes everything that was in the log when the subscription
	// began.
	CaughtUp bool
	// Held means that this is a part of a delayed batch and that another part follows soon. The
	// events need not be committed before the rest of the batch is.
	Held bool
}

type batchKey struct{}

// BatchOf returns the batch of a message from a Subscriber.
func BatchOf(m *message.Message) Batch {
	batch, _ := m.Context().Value(batchKey{}).(Batch)
	return batch
}

// Config configures a Subscriber.
type Config struct {
	// Filter selects the events to follow.
	Filter eventstore.Filter
	// Checkpoint returns the position after which to continue. The zero position is the start of
	// the log. It is called again after every drop and every nack, because only the database of the
	// read model knows what was committed.
	Checkpoint func(context.Context) (eventstore.Position, error)
	// BatchSize is the maximum number of events in a batch; 0 means DefaultBatchSize.
	BatchSize int
	// Decode decodes events as they arrive, concurrently with the processing of the previous batch.
	Decode bool
	// Delayable reports whether an event may be delayed. If nil, no event may. A batch is delayed
	// if all its events may be, so that few large batches replace many small ones. The delay is
	// chosen so that a tenth of the time is spent on such batches, but is at least MinDelay and at
	// most MaxDelay.
	Delayable func(eventstore.Recorded) bool
	// NeverAwaited means that all events may be delayed. A subscription that has caught up is
	// closed if an event arrives before the delay is over, and opened again after the delay. The
	// event store then sends all events at once instead of one by one.
	NeverAwaited bool
	// Demand delivers delayed events early. If nil, none are demanded.
	Demand *Demand
	// SendParts delivers delayed batches in parts while they are collected, so that the Subscriber
	// need not keep whole batches. With NeverAwaited it also does so while the subscription catches
	// up.
	SendParts bool
	// MinDelay and MaxDelay bound the delay between two batches for Delayable and NeverAwaited; 0
	// means DefaultMinDelay and DefaultMaxDelay.
	MinDelay, MaxDelay time.Duration
	// OnError is called with the reason why a subscription ended, before it is opened again. It may
	// be nil.
	OnError func(error)
	Logger  *slog.Logger // nil discards
}

// Subscriber follows the log as a watermill Subscriber: one message per batch of events, one
// message in flight. A batch ends when it is full or when no more events are waiting, so a live
// event is delivered at once.
//
// An ack means that the batch is committed together with its position, unless it is Held. After a
// nack, or after the event store drops the subscription, the Subscriber waits briefly, calls
// Config.Checkpoint and subscribes again from there. It never gives up.
type Subscriber struct {
	store  *eventstore.Store
	cfg    Config
	closed context.CancelFunc
	//nolint:containedctx // ends with Close, as watermill's Subscriber contract demands
	ctx    context.Context
	active sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// New returns a Subscriber on the store.
func New(store *eventstore.Store, cfg Config) *Subscriber {
	if cfg.BatchSize == 0 {
		cfg.BatchSize = DefaultBatchSize
	}
	if cfg.MinDelay == 0 {
		cfg.MinDelay = DefaultMinDelay
	}
	if cfg.MaxDelay == 0 {
		cfg.MaxDelay = DefaultMaxDelay
	}
	if cfg.Demand == nil {
		cfg.Demand = NewDemand()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Subscriber{store: store, cfg: cfg, ctx: ctx, closed: cancel}
}

// Subscribe implements message.Subscriber. The topic names the subscription in logs. The channel is
// closed when ctx ends or the Subscriber is closed, but not by an outage, because the Router of
// watermill ends with its last subscription.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if s.ctx.Err() != nil {
		return nil, eventstore.ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	stopWatching := context.AfterFunc(s.ctx, cancel)
	out := make(chan *message.Message)
	s.active.Go(func() {
		defer close(out)
		defer cancel()
		defer stopWatching()
		s.follow(ctx, topic, out)
	})
	return out, nil
}

// Close implements message.Subscriber: it ends all subscriptions and waits for them.
func (s *Subscriber) Close() error {
	s.closed()
	s.active.Wait()
	return nil
}

// follow opens the subscription repeatedly until ctx ends.
func (s *Subscriber) follow(ctx context.Context, topic string, out chan<- *message.Message) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 50*time.Millisecond, maxRetryInterval
	for ctx.Err() == nil {
		progressed, err := s.subscribeOnce(ctx, out)
		if ctx.Err() != nil {
			return
		}
		if progressed {
			wait.Reset()
		}
		if rest, ok := errors.AsType[restError](err); ok {
			s.rest(ctx, rest)
			continue
		}
		delay := wait.NextBackOff()
		s.cfg.OnError(err)
		s.cfg.Logger.WarnContext(ctx, "subscription ended, subscribing again",
			slog.String("topic", topic), slog.Any("error", err), slog.Duration("in", delay))
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// rest waits until the subscription is to be opened again: its next batch is due, or events are
// demanded.
func (s *Subscriber) rest(ctx context.Context, rest restError) {
	timer := time.NewTimer(time.Until(rest.until))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-s.cfg.Demand.raised:
			timer.Reset(time.Until(rest.demanded))
		}
	}
}

// errNacked ends a subscription whose batch was nacked. Only the checkpoint shows what was
// committed of it.
var errNacked = errors.New("batch was not applied")

// restError closes a subscription until its next batch is due. See Config.NeverAwaited.
type restError struct {
	until    time.Time
	demanded time.Time // the earlier end if events are demanded
}

func (restError) Error() string { return "the subscription is closed until its next batch is due" }

// subscribeOnce follows the log from the checkpoint until something fails. It reports whether a
// batch was applied.
func (s *Subscriber) subscribeOnce(
	ctx context.Context, out chan<- *message.Message,
) (progressed bool, err error) {
	from, err := s.cfg.Checkpoint(ctx)
	if err != nil {
		return false, fmt.Errorf("read the checkpoint: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the subscription at the server and the receiving goroutine
	subscription, err := s.store.Subscribe(ctx, from, s.cfg.Filter)
	if err != nil {
		return false, err
	}
	arrivals := make(chan arrival, max(s.cfg.BatchSize, min(2*s.cfg.BatchSize, maxArrivals)))
	room := semaphore.NewWeighted(maxBatchBytes)
	received := make(chan error, 1)
	go func() { received <- s.receive(ctx, subscription, arrivals, room) }()

	progressed, err = s.deliverAll(ctx, from, arrivals, room, out)
	cancel()
	if dropped := <-received; err == nil {
		err = dropped
	}
	return progressed, err
}

// deliverAll collects arrivals into batches and delivers them until a batch is nacked, the arrivals
// end, or an event arrives before its batch is due (restError). It returns no error if the arrivals
// end, because receive returns the reason.
func (s *Subscriber) deliverAll(
	ctx context.Context, from eventstore.Position, arrivals <-chan arrival,
	room *semaphore.Weighted, out chan<- *message.Message,
) (progressed bool, err error) {
	batches := batcher{Config: s.cfg, memory: room, position: from}
	var rest restError // an event before rest.until ends the subscription
	for {
		live := batches.live // as it was before this batch
		batch, ok := batches.next(ctx, arrivals)
		if !ok {
			return progressed, nil
		}
		if s.cfg.NeverAwaited && live && len(batch.Events) > 0 {
			if s.cfg.Demand.includes(batch.Events[0].Position) {
				rest.until = rest.demanded
			}
			if time.Now().Before(rest.until) {
				return progressed, rest
			}
		}
		if err := deliver(ctx, out, batch); err != nil {
			return progressed, err
		}
		progressed = true
		rest.until, rest.demanded = batches.due(time.Now()), batches.demandedDue(time.Now())
	}
}

// deliver sends one batch and waits until it was applied. The context of the message ends then, as
// watermill requires.
func deliver(ctx context.Context, out chan<- *message.Message, batch Batch) error {
	ctx, applied := context.WithCancel(ctx)
	defer applied()
	m := message.NewMessage(watermill.NewUUID(), nil)
	m.SetContext(context.WithValue(ctx, batchKey{}, batch))
	select {
	case out <- m:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-m.Acked():
		return nil
	case <-m.Nacked():
		return errNacked
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arrival is an event, a position that was reached without an event, or the report that the
// subscription has caught up.
type arrival struct {
	event    *eventstore.Recorded
	position eventstore.Position
	caughtUp bool
}

// size returns the bytes that an arrival holds of the semaphore while it waits.
func (a arrival) size() int64 {
	if a.event == nil {
		return 0
	}
	return int64(min(len(a.event.Data), maxBatchBytes))
}

// receive sends what the subscription delivers to arrivals, as far as room, the semaphore of
// waiting bytes, permits. It closes arrivals when the subscription drops.
func (s *Subscriber) receive(
	ctx context.Context, subscription *logreader.Subscription, arrivals chan<- arrival,
	room *semaphore.Weighted,
) error {
	defer close(arrivals)
	defer subscription.Close()
	for {
		received, err := subscription.Next(ctx)
		if err != nil {
			return fmt.Errorf("subscription dropped: %w", err)
		}
		a := arrival{position: received.Checkpoint, caughtUp: received.CaughtUp}
		switch {
		case received.IsEvent:
			a.event, a.position = &received.Event, received.Event.Position
			if s.cfg.Decode {
				a.event.Predecode()
			}
		case a.caughtUp:
			// Not every server sends a checkpoint when a search for matching events reaches the end
			// of the log.
			a.position = subscription.Head
		case a.position == eventstore.Position{}, a.position.Commit == math.MaxUint64:
			// A response without a position says that the subscription fell behind, which the
			// batcher detects itself. Some servers send MaxUint64 as the checkpoint of an empty
			// search at the end of the log; a subscription from there would skip events.
			continue
		}
		if err := room.Acquire(ctx, a.size()); err != nil {
			return err
		}
		select {
		case arrivals <- a:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
