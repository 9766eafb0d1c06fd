package effects

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"linkledger/effects/outbox"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/subscription"
)

const (
	// lease is how long a suspended owner keeps an effect.
	lease = 6 * time.Second
	// renewalInterval is how often an owner renews its lease.
	renewalInterval = 2 * time.Second
	// electionInterval is how often a process looks whether an effect has no owner.
	electionInterval = 500 * time.Millisecond
	// releaseTimeout bounds the release of a lease when a process ends.
	releaseTimeout = 2 * time.Second
	// replacedAfter is how long the log must lack the checkpoint before the effect begins anew. A
	// new leader of a cluster may lack it for a moment.
	replacedAfter = 2 * time.Second
	// batchSize bounds the events of a transaction, because each of them may make a message for
	// each of many receivers.
	batchSize = 32
	// planTimeout bounds the plan of a batch, which may wait for a lost connection.
	planTimeout = 5 * time.Minute
	// maxError bounds the stored reason why there is no progress, in bytes.
	maxError = 1000
	// writeInterval is how often the checkpoint is written while there is nothing to do.
	writeInterval = time.Second
	// recent is the age up to which events are caught up with after a start, see CatchUp.
	recent = time.Hour
)

// CatchUp says what an effect does about the events between its checkpoint and the head of the log
// when a process starts. After a restore of an older database, they have had their effect before.
type CatchUp string

// The values of CatchUp.
const (
	CatchUpRecent CatchUp = ""         // events that are younger than an hour have their effect
	CatchUpAll    CatchUp = "catch-up" // all events have their effect
	CatchUpNone   CatchUp = "skip"     // no event from before the start has an effect
)

// Config configures Run.
type Config struct {
	Pool    *pgxpool.Pool // prepares its statements, as readmodel.DB.Writers does
	Store   *eventstore.Store
	Owner   string // unique name of this process, whose presence lock the process holds
	CatchUp CatchUp
	Logger  *slog.Logger
}

// follower follows the log for an effect while this process owns it.
type follower struct {
	cfg    Config
	effect Effect
	outbox *outbox.Outbox
	// wake gets the receivers that have got messages.
	wake   func([]uuid.UUID)
	oldest time.Time // messages of earlier events are skipped

	mu        sync.Mutex
	at        checkpoint // as it was last written
	plan      Plan       // nil: Begin has to make one
	receivers map[uuid.UUID]bool
	// idle means that there are no receivers. The follower then follows only the events that
	// register receivers. changed means that this has changed, so another subscription is needed.
	idle, changed bool
	seen          eventstore.Position // up to which everything is planned
	witness       eventlog.Identity   // the last event up to seen; zero: as in at
	written       time.Time           // when at was written
	// nacked means that the cause of the failure that comes next is known already.
	nacked bool
	// lacking is since when the log lacks the checkpoint; zero: it has it. replaced means that it
	// lacks the checkpoint for longer than a change of the leader takes.
	lacking  time.Time
	replaced bool

	lastError atomic.Pointer[string] // why there is no progress; nil: there is
}

// newFollower returns the follower of an effect. wake is called with the receivers that have got
// messages, after each commit. It MUST NOT block.
func newFollower(
	effect Effect, cfg Config, stored *outbox.Outbox, wake func([]uuid.UUID),
) *follower {
	f := &follower{cfg: cfg, effect: effect, outbox: stored, wake: wake}
	switch cfg.CatchUp {
	case CatchUpNone:
		f.oldest = time.Now()
	case CatchUpRecent:
		f.oldest = time.Now().Add(-recent)
	case CatchUpAll:
	}
	return f
}

// run follows the log until ctx ends, while no other process does. It waits for the end of outages.
func (f *follower) run(ctx context.Context) {
	ticker := time.NewTicker(electionInterval)
	defer ticker.Stop()
	failing := false
	for {
		err := f.runOnce(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			f.cfg.Logger.WarnContext(ctx, "effect not followed, trying again",
				slog.String("effect", f.effect.Name), slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// runOnce begins the effect if it has never begun, and follows the log if it has no owner.
func (f *follower) runOnce(ctx context.Context) error {
	at, elected, err := acquire(ctx, f.cfg.Pool, f.effect.Name, f.cfg.Owner, lease)
	if err != nil {
		return err
	}
	if !elected {
		begun, err := exists(ctx, f.cfg.Pool, f.effect.Name)
		if err != nil || begun {
			return err
		}
		return f.begin(ctx, checkpoint{name: f.effect.Name})
	}
	return f.own(ctx, at)
}

// own follows the log until ctx ends or another process owns the effect.
func (f *follower) own(ctx context.Context, at checkpoint) error {
	ctx, lose := context.WithCancel(ctx)
	defer lose()
	f.mu.Lock()
	f.at, f.plan, f.lacking, f.replaced, f.nacked = at, nil, time.Time{}, false, false
	f.seen, f.witness = at.position, eventlog.Identity{}
	f.lastError.Store(nil)
	f.mu.Unlock()
	f.cfg.Logger.InfoContext(ctx, "effect taken over", slog.String("effect", f.effect.Name),
		slog.Int64("epoch", at.epoch))

	var renewing sync.WaitGroup
	renewing.Go(func() { f.renew(ctx, at, lose) })
	for ctx.Err() == nil {
		if err := f.follow(ctx, lose); err != nil {
			f.failed(ctx, err)
			select {
			case <-ctx.Done():
			case <-time.After(electionInterval):
			}
		}
	}
	renewing.Wait()
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return at.release(releasing, f.cfg.Pool)
}

// errOtherFilter ends a subscription that has not the filter that is needed now.
var errOtherFilter = errors.New("another filter is needed")

// follow follows the log with one subscription, until ctx ends or another filter is needed.
func (f *follower) follow(ctx context.Context, lose func()) error {
	receivers, err := f.outbox.Receivers(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.idle, f.changed, f.nacked = len(receivers) == 0, false, false
	filter := f.filter()
	f.mu.Unlock()
	ctx, end := context.WithCancel(ctx)
	defer end()
	subscriber := subscription.New(f.cfg.Store, subscription.Config{
		Filter: filter,
		Checkpoint: func(ctx context.Context) (eventstore.Position, error) {
			position, err := f.checkpoint(ctx)
			switch {
			case errors.Is(err, errFenced):
				lose()
			case errors.Is(err, errOtherFilter):
				end()
			}
			return position, err
		},
		Delayable: f.effect.Delayable, MaxDelay: f.effect.MaxDelay, BatchSize: batchSize,
		Logger:  f.cfg.Logger,
		OnError: func(err error) { f.failed(ctx, err) },
	})
	batches, err := subscriber.Subscribe(ctx, "effect "+f.effect.Name)
	if err != nil {
		return err
	}
	for m := range batches {
		if !f.handle(ctx, m, lose) {
			end()
		}
	}
	return subscriber.Close()
}

// filter returns the filter of the events that are followed now.
func (f *follower) filter() eventstore.Filter {
	if f.idle {
		return f.effect.Registers
	}
	return f.effect.Filter
}

// handle applies a batch. It returns false if another subscription is needed.
func (f *follower) handle(ctx context.Context, m *message.Message, lose func()) (same bool) {
	err := f.apply(m.Context(), subscription.BatchOf(m))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		m.Ack()
		return !f.changed
	}
	if errors.Is(err, errFenced) {
		lose()
	} else if ctx.Err() == nil {
		f.cfg.Logger.WarnContext(ctx, "batch of the effect not applied, trying again",
			slog.String("effect", f.effect.Name), slog.Any("error", err))
	}
	f.say(err)
	f.nacked = true
	m.Nack()
	return !f.changed
}

// checkpoint returns the position from which the subscription starts, and makes a new plan. If the
// log has lacked the checkpoint for some time, as a log that was restored from a backup does, the
// effect begins anew at the head of the log.
func (f *follower) checkpoint(ctx context.Context) (eventstore.Position, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.at.reread(ctx, f.cfg.Pool)
	if err != nil {
		return eventstore.Position{}, err
	}
	if f.replaced {
		f.lacking, f.replaced = time.Time{}, false
		f.cfg.Logger.WarnContext(ctx, "the log lacks events that the effect has followed, so the "+
			"effect begins at its head", slog.String("effect", f.effect.Name))
		if err := f.begin(ctx, at); err != nil {
			return eventstore.Position{}, err
		}
		if at, err = f.at.reread(ctx, f.cfg.Pool); err != nil {
			return eventstore.Position{}, err
		}
	}
	receivers, err := f.outbox.Receivers(ctx)
	if err != nil {
		return eventstore.Position{}, err
	}
	if f.idle != (len(receivers) == 0) {
		return eventstore.Position{}, errOtherFilter
	}
	if err := f.cfg.Store.Fits(ctx, at.position, at.witness, f.filter()); err != nil {
		return eventstore.Position{}, err
	}
	f.at, f.seen, f.witness = at, at.position, eventlog.Identity{}
	f.receivers = make(map[uuid.UUID]bool)
	for _, r := range receivers {
		f.receivers[r.ID] = true
	}
	f.plan, err = f.effect.Begin(ctx, receivers)
	return at.position, err
}

// failed remembers why there is no progress, until the next batch is applied. If the log lacks the
// checkpoint twice, with some time in between, it was replaced.
func (f *follower) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nacked { // handle has said why
		f.nacked = false
		return
	}
	f.say(err)
	switch lacks := errors.Is(err, eventstore.ErrPositionInvalid); {
	case !lacks:
		f.lacking = time.Time{}
	case f.lacking.IsZero():
		f.lacking = time.Now()
	case time.Since(f.lacking) >= replacedAfter:
		f.replaced = true
	}
}

// say stores why there is no progress, for operators.
func (f *follower) say(err error) {
	text, _, _ := strings.Cut(strings.ToValidUTF8(err.Error(), "?"), "\n")
	text = strings.ReplaceAll(text, "\x00", "?")
	text = strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	f.lastError.Store(&text)
}

// renew extends the lease regularly, because there may be no batches that do. It does not wait for
// a batch that is planned.
func (f *follower) renew(ctx context.Context, at checkpoint, lose func()) {
	ticker := time.NewTicker(renewalInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		lastError := ""
		if text := f.lastError.Load(); text != nil {
			lastError = *text
		}
		renewing, cancel := context.WithTimeout(ctx, renewalInterval)
		err := at.renew(renewing, f.cfg.Pool, lease, lastError)
		cancel()
		if err == nil {
			err = f.writeSeen(ctx)
		}
		if errors.Is(err, errFenced) {
			lose()
			return
		}
		if err != nil && ctx.Err() == nil {
			f.cfg.Logger.WarnContext(ctx, "lease of the effect not renewed, trying again",
				slog.String("effect", f.effect.Name), slog.Any("error", err))
		}
	}
}

// writeSeen writes the checkpoint if it has moved and no batch is being applied.
func (f *follower) writeSeen(ctx context.Context) error {
	if !f.mu.TryLock() {
		return nil
	}
	defer f.mu.Unlock()
	if !f.seen.After(f.at.position) {
		return nil
	}
	return f.write(ctx, outbox.Changes{})
}
