// Package subscription follows the log of an event store as a watermill Subscriber, in batches of
// events.
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
)

const (
	// positionInterval bounds how often a batch without events is sent, only to move the checkpoint
	// past events that do not match.
	positionInterval = time.Second
	// catchUpInterval is after how long a subscription that rests sends a whole batch while it
	// catches up.
	catchUpInterval = time.Second
	// patientShare bounds the part of the time that goes into batches of patient events to one in
	// so many: the longer the last batch took, the longer the next one gathers.
	patientShare = 10
	// demandedShare is the same of such events that somebody demands.
	demandedShare = 2
	// maxDemanded is the most time between two such batches, however long they take.
	maxDemanded = 100 * time.Millisecond
	// DefaultMinPatience is the least time between two batches of patient events where the
	// configuration does not say.
	DefaultMinPatience = 10 * time.Millisecond
	// DefaultMaxPatience is the most of that time where the configuration does not say.
	DefaultMaxPatience = 500 * time.Millisecond
	// maxBatchBytes bounds the bodies of one batch, beside the number of its events: one that is
	// reached ends the batch.
	maxBatchBytes = 8 << 20
	// partBytes bounds those of a part.
	partBytes = 256 << 10
	// maxArrivals bounds the events that wait while a batch is applied, beside the bytes of their
	// bodies.
	maxArrivals = 2000
	// DefaultBatchSize is the most events of one batch where the configuration does not say.
	DefaultBatchSize = 1000
)

// Batch is what one watermill message of a Subscriber carries. A batch without events moves the
// checkpoint only.
type Batch struct {
	Events []eventstore.Recorded
	// the place in the log up to which everything that matches is in this batch or an earlier one
	Position eventstore.Position
	// with this batch, everything was delivered that was in the log when the subscription began
	CaughtUp bool
	// Held means that this is a part of a batch, of events that nobody waits for, and another part
	// follows soon. They need not be committed before the rest of it is.
	Held bool
}

type batchKey struct{}

// BatchOf returns the batch that a message of a Subscriber carries.
func BatchOf(m *message.Message) Batch {
	batch, _ := m.Context().Value(batchKey{}).(Batch)
	return batch
}

// Config of a Subscriber.
type Config struct {
	// Filter selects the events to follow.
	Filter eventstore.Filter
	// Checkpoint returns the position behind which to go on; the zero position is the start of the
	// log. It is asked again after every drop and every nack, because only the read model's
	// database knows what was committed.
	Checkpoint func(context.Context) (eventstore.Position, error)
	// BatchSize is the most events of one batch; 0 means DefaultBatchSize.
	BatchSize int
	// Decode has events decoded as they arrive, beside the work on the batch before.
	Decode bool
	// Patient tells of an event that nobody waits for; nil: somebody waits for each. Batches of
	// nothing else are held back, so that many small ones become few large ones: so long that a
	// tenth of the time goes into them, but at least MinPatience and at most MaxPatience.
	Patient func(eventstore.Recorded) bool
	// Rests means that nobody waits for any event. A subscription that has caught up and is needed
	// again too soon ends, and is taken up again when that time is over: the event store then sends
	// at one go what it would have sent one by one.
	Rests bool
	// Demand has those events come sooner that somebody waits for after all; nil: nobody ever does.
	Demand *Demand
	// InParts has batches that are held back sent on in parts as they gather, so that they need not
	// be kept as they are. So are those of a subscription that rests while it catches up.
	InParts bool
	// MinPatience and MaxPatience bound the time between two batches of either; 0 means
	// DefaultMinPatience and DefaultMaxPatience.
	MinPatience, MaxPatience time.Duration
	// OnError learns why a subscription ended, before it is taken up again; may be nil.
	OnError func(error)
	Logger  *slog.Logger // nil discards
}

// Subscriber follows the log as a watermill Subscriber: one message per batch of events, one
// message in flight. A batch ends when it is full or when nothing more is waiting, so a live event
// waits for nobody.
//
// Ack means that the batch is committed together with its position, unless it is Held. After a
// nack, or when the event store drops the subscription, the Subscriber waits a moment, asks for the
// checkpoint and subscribes again from there; it never gives up.
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
	if cfg.MinPatience == 0 {
		cfg.MinPatience = DefaultMinPatience
	}
	if cfg.MaxPatience == 0 {
		cfg.MaxPatience = DefaultMaxPatience
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
// closed when ctx ends or the Subscriber is closed, never by an outage: watermill's Router ends
// with its last subscription.
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

// follow takes the subscription up again and again until ctx ends.
func (s *Subscriber) follow(ctx context.Context, topic string, out chan<- *message.Message) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 50*time.Millisecond, 5*time.Second
	for ctx.Err() == nil {
		progressed, err := s.subscribeOnce(ctx, out)
		if ctx.Err() != nil {
			return
		}
		if progressed {
			wait.Reset()
		}
		if rest, ok := errors.AsType[resting](err); ok {
			s.rest(ctx, rest)
			continue
		}
		delay := wait.NextBackOff()
		s.cfg.OnError(err)
		s.cfg.Logger.WarnContext(ctx, "subscription ended, taking it up again",
			slog.String("topic", topic), slog.Any("error", err), slog.Duration("in", delay))
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// rest waits while nobody needs the subscription.
func (s *Subscriber) rest(ctx context.Context, rest resting) {
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

// errNacked ends a subscription whose batch was refused: what was committed of it only the
// checkpoint tells.
var errNacked = errors.New("batch was not applied")

// resting ends a subscription that nobody waits for.
type resting struct {
	until    time.Time
	demanded time.Time // until when, if somebody waits after all
}

func (resting) Error() string { return "the subscription rests" }

// subscribeOnce follows the log from the checkpoint until something fails. It tells whether a batch
// was applied.
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

// deliverAll gathers arrivals into batches and delivers them, until a batch is refused or the
// arrivals end, which is no error here.
func (s *Subscriber) deliverAll(
	ctx context.Context, from eventstore.Position, arrivals <-chan arrival,
	room *semaphore.Weighted, out chan<- *message.Message,
) (progressed bool, err error) {
	batches := batcher{Config: s.cfg, room: room, position: from}
	var rest resting // in which the next event ends the subscription
	for {
		live := batches.live // before this batch
		batch, ok := batches.next(ctx, arrivals)
		if !ok {
			return progressed, nil
		}
		if s.cfg.Rests && live && len(batch.Events) > 0 {
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

// deliver sends one batch and waits until it was applied. The message's context ends with that, as
// watermill demands.
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

// arrival is an event, or a position that was reached without one, or the news that nothing more is
// waiting.
type arrival struct {
	event    *eventstore.Recorded
	position eventstore.Position
	caughtUp bool
}

// size is the room that an arrival takes while it waits.
func (a arrival) size() int64 {
	if a.event == nil {
		return 0
	}
	return int64(min(len(a.event.Data), maxBatchBytes))
}

// receive hands on what the subscription sends, as far as there is room, until it drops; then it
// closes arrivals.
func (s *Subscriber) receive(
	ctx context.Context, subscription *eventstore.Subscription, arrivals chan<- arrival,
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
			// Not every server sends a checkpoint where a search for events that do not match has
			// come to its end.
			a.position = subscription.Head
		case a.position == eventstore.Position{} || a.position.Commit == math.MaxUint64:
			// It says that it fell behind, which the batcher sees by itself. Or the checkpoint of
			// an empty search is the end of the log, MaxUint64, as some servers have it; going on
			// from there would skip events.
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
