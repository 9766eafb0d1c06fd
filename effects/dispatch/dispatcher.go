// Package dispatch delivers the messages of an effect, with retries. Workers of all processes take
// queues from the outbox. The package plans nothing, and does not know what a message means.
package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/effects/outbox"
)

const (
	// maxWorkers is how many queues a process works on at once.
	maxWorkers = 1024
	// maxOfReceiver is how many queues of one receiver a process works on at once, and crowd is how
	// many queues a process works on before each receiver gets only one worker. So receivers that
	// are slow, or give no answer, leave workers for the others.
	maxOfReceiver = 8
	crowd         = 256
	// leaveTimeout bounds how long a worker gives its queue back when a process ends.
	leaveTimeout = 2 * time.Second
	// pollInterval is how often a process looks for messages that were not announced to it:
	// retries, and messages of a process that has ended.
	pollInterval = time.Second
	// workTime is how long a worker takes further messages of a claimed queue.
	workTime = 5 * time.Second
	// messagesAtOnce is how many messages of a queue a worker reads at once.
	messagesAtOnce = 16
	// storeTimeout bounds how long the outcome of an attempt is stored. With the attempt, it is
	// shorter than a claim.
	storeTimeout = 15 * time.Second
	// pruneInterval is how often old messages are removed, and keepFor is how long they are kept.
	pruneInterval = time.Minute
	keepFor       = 7 * 24 * time.Hour
	mostPruned    = 10_000
)

// AttemptTimeout bounds an attempt to deliver a message.
const AttemptTimeout = 10 * time.Second

// Config configures a Dispatcher.
type Config struct {
	Effect string // name of the effect
	Outbox *outbox.Outbox
	// Do makes one attempt to deliver a message. It MUST end within AttemptTimeout.
	Do func(ctx context.Context, to outbox.Receiver, m outbox.Message) outbox.Outcome
	// Suspend stores in the log that a receiver gets nothing any more, and why.
	Suspend func(ctx context.Context, of outbox.Receiver, reason string) error
	Logger  *slog.Logger
}

// Dispatcher delivers the messages of an effect. Each process has one.
type Dispatcher struct {
	cfg    Config
	outbox *outbox.Outbox

	announced chan struct{} // has an element if awake is not empty
	tasks     sync.WaitGroup

	mu      sync.Mutex
	awake   map[uuid.UUID]bool // receivers that may have due messages
	working map[uuid.UUID]int  // queues that are worked on, by receiver
	total   int                // sum of working
}

// New returns a Dispatcher.
func New(cfg Config) *Dispatcher {
	return &Dispatcher{
		cfg: cfg, outbox: cfg.Outbox,
		announced: make(chan struct{}, 1),
		awake:     make(map[uuid.UUID]bool), working: make(map[uuid.UUID]int),
	}
}

// Wake says that receivers have got messages. It does not block.
func (d *Dispatcher) Wake(receivers []uuid.UUID) {
	d.mu.Lock()
	for _, r := range receivers {
		d.awake[r] = true
	}
	d.mu.Unlock()
	select {
	case d.announced <- struct{}{}:
	default: // it is announced already
	}
}

// Run delivers messages until ctx ends, and waits for the attempts that have begun.
func (d *Dispatcher) Run(ctx context.Context) {
	defer d.tasks.Wait()
	poll, prune := time.NewTicker(pollInterval), time.NewTicker(pruneInterval)
	defer poll.Stop()
	defer prune.Stop()
	failing := false
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-d.announced:
			err = d.startAwake(ctx)
		case <-poll.C:
			err = d.startAny(ctx)
		case <-prune.C:
			err = d.prune(ctx)
		}
		if err != nil && ctx.Err() == nil && !failing {
			d.cfg.Logger.WarnContext(ctx, "messages of the effect not taken, trying again",
				slog.String("effect", d.cfg.Effect), slog.Any("error", err))
		}
		failing = err != nil
	}
}

// prune removes messages that ended long ago.
func (d *Dispatcher) prune(ctx context.Context) error {
	for {
		removed, err := d.outbox.Prune(ctx, time.Now().Add(-keepFor), mostPruned)
		if err != nil || removed < mostPruned {
			return err
		}
	}
}

// startAwake works on the queues of the receivers that Wake has named.
func (d *Dispatcher) startAwake(ctx context.Context) error {
	d.mu.Lock()
	awake := slices.Collect(maps.Keys(d.awake))
	clear(d.awake)
	d.mu.Unlock()
	for _, receiver := range awake {
		free := d.freeFor(receiver)
		if free <= 0 {
			continue // a worker that ends looks for more
		}
		claims, err := d.outbox.ClaimOf(ctx, receiver, free)
		if err != nil {
			return err // the next poll finds the messages
		}
		d.start(ctx, claims)
	}
	return nil
}

// freeFor returns how many further queues of a receiver this process may work on.
func (d *Dispatcher) freeFor(receiver uuid.UUID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return min(d.most()-d.working[receiver], maxWorkers-d.total)
}

// most returns how many queues of one receiver this process may work on now.
func (d *Dispatcher) most() int {
	if d.total >= crowd {
		return 1
	}
	return maxOfReceiver
}

// startAny works on one queue of each receiver that has a due one, and then on its other queues.
func (d *Dispatcher) startAny(ctx context.Context) error {
	var busy []uuid.UUID
	d.mu.Lock()
	free := maxWorkers - d.total
	for receiver, n := range d.working {
		if n >= d.most() {
			busy = append(busy, receiver)
		}
	}
	d.mu.Unlock()
	if free <= 0 {
		return nil
	}
	claims, err := d.outbox.ClaimAny(ctx, free, busy)
	d.start(ctx, claims)
	for _, c := range claims {
		d.Wake([]uuid.UUID{c.Receiver.ID})
	}
	return err
}

func (d *Dispatcher) start(ctx context.Context, claims []outbox.Claim) {
	for _, c := range claims {
		d.mu.Lock()
		d.working[c.Receiver.ID]++
		d.total++
		d.mu.Unlock()
		d.tasks.Go(func() {
			more := d.work(ctx, c)
			d.mu.Lock()
			d.total--
			if d.working[c.Receiver.ID]--; d.working[c.Receiver.ID] == 0 {
				delete(d.working, c.Receiver.ID)
			}
			d.mu.Unlock()
			if more {
				d.Wake([]uuid.UUID{c.Receiver.ID})
			}
		})
	}
}

// work delivers the messages of a queue until one fails, none is left, or it has worked for some
// time. It reports whether the receiver may have more messages.
func (d *Dispatcher) work(ctx context.Context, c outbox.Claim) (more bool) {
	more, err := d.deliver(ctx, c)
	if err != nil && ctx.Err() == nil && !errors.Is(err, outbox.ErrClaimLost) {
		d.cfg.Logger.WarnContext(ctx, "messages of the effect left, trying again",
			slog.String("effect", d.cfg.Effect), slog.Any("error", err))
	}
	if more || err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		_, err = d.outbox.Leave(leaving, c) // without an answer, the claim runs out
	}
	return more && err == nil
}

// deliver does the work of work. more is true if the worker still has the claim.
func (d *Dispatcher) deliver(ctx context.Context, c outbox.Claim) (more bool, err error) {
	until := time.Now().Add(workTime)
	for {
		waiting, err := d.outbox.Waiting(ctx, c, messagesAtOnce)
		if err != nil {
			return false, err
		}
		for _, m := range waiting {
			if time.Now().After(until) {
				return true, nil
			}
			if done, err := d.attempt(ctx, &c, m); err != nil || !done {
				return false, err
			}
			c.Failures = 0
		}
		if len(waiting) < messagesAtOnce {
			return true, nil
		}
	}
}

// attempt makes one attempt to deliver a message, and stores the outcome. It reports whether the
// worker may go on with the next message.
func (d *Dispatcher) attempt(
	ctx context.Context, c *outbox.Claim, m outbox.Message,
) (done bool, err error) {
	started := time.Now()
	outcome := d.do(ctx, c.Receiver, m)
	if !outcome.Delivered && ctx.Err() != nil {
		return false, ctx.Err() // the end of this process has ended the attempt
	}
	// What has happened is stored even if the process ends.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if outcome.Delivered {
		err := d.outbox.Delivered(storing, *c, m, started, outcome)
		c.Receiver.Failures, c.Receiver.FailingSince = 0, time.Time{}
		return true, err
	}
	retry := retryOf(*c, m, started)
	if err := d.outbox.NotDelivered(storing, *c, m, started, outcome, retry); err != nil {
		return false, err
	}
	if reason := endOf(*c, outcome, started); reason != "" {
		// The follower closes the receiver when it reads the event. Until then, and if the event
		// cannot be appended, the next failed attempt suspends it.
		return false, d.cfg.Suspend(storing, c.Receiver, reason)
	}
	c.Receiver.Failures++
	return retry.GiveUp, nil
}

// do makes one attempt. An effect that panics has not delivered.
func (d *Dispatcher) do(
	ctx context.Context, to outbox.Receiver, m outbox.Message,
) (got outbox.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			d.cfg.Logger.ErrorContext(ctx, "a delivery has panicked",
				slog.String("effect", d.cfg.Effect), slog.Any("cause", cause))
			got = outbox.Outcome{Answer: "internal error"}
		}
	}()
	return d.cfg.Do(ctx, to, m)
}
