package effects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Config configures a Follower and a Dispatcher.
type Config struct {
	Pool    *pgxpool.Pool // prepares its statements, as readmodel.DB.Writers does
	Store   *eventstore.Store
	Owner   string // unique name of this process, whose presence lock the process holds
	CatchUp CatchUp
	Logger  *slog.Logger
}

// Follower follows the log for an effect while this process owns it.
type Follower struct {
	cfg    Config
	effect Effect
	outbox *outbox.Outbox
	// wake gets the receivers that have got messages.
	wake   func([]uuid.UUID)
	oldest time.Time // messages of earlier events are skipped
	owned  atomic.Bool

	mu        sync.Mutex
	at        checkpoint
	plan      Plan // nil: Begin has to make one
	lastError string
	lacking   time.Time // since when the log lacks the checkpoint; zero: it has it
}

// NewFollower returns the follower of an effect. wake is called with the receivers that have got
// messages, after each commit. It MUST NOT block.
func NewFollower(effect Effect, cfg Config, wake func([]uuid.UUID)) *Follower {
	f := &Follower{
		cfg: cfg, effect: effect, outbox: outbox.New(effect.Name, cfg.Pool), wake: wake,
	}
	switch cfg.CatchUp {
	case CatchUpNone:
		f.oldest = time.Now()
	case CatchUpRecent:
		f.oldest = time.Now().Add(-recent)
	case CatchUpAll:
	}
	return f
}

// IsOwner reports whether this process owns the effect.
func (f *Follower) IsOwner() bool { return f.owned.Load() }

// Run follows the log until ctx ends, while no other process does. It waits for the end of outages.
func (f *Follower) Run(ctx context.Context) {
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
func (f *Follower) runOnce(ctx context.Context) error {
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

// begin lets the effect begin at the head of the log, with the receivers that the log has made.
func (f *Follower) begin(ctx context.Context, from checkpoint) error {
	head, err := f.cfg.Store.Head(ctx)
	if err != nil {
		return err
	}
	var at eventlog.Identity
	if head != (eventstore.Position{}) {
		if at, err = f.cfg.Store.IdentityAt(ctx, head); err != nil {
			return err
		}
		at.Position = head
	}
	receivers, err := f.registered(ctx, head)
	if err != nil {
		return err
	}
	f.cfg.Logger.InfoContext(ctx, "effect begins at the head of the log",
		slog.String("effect", f.effect.Name), slog.String("position", head.String()),
		slog.Int("receivers", len(receivers)))
	return begin(ctx, f.cfg.Pool, from, at, receivers)
}

// registered returns the receivers that the events up to a position have made.
func (f *Follower) registered(
	ctx context.Context, upTo eventstore.Position,
) ([]outbox.Receiver, error) {
	plan, err := f.effect.Begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	known := make(map[uuid.UUID]outbox.Receiver)
	err = eachSelected(ctx, f.cfg.Store, f.effect.Registers, upTo,
		func(r eventstore.Recorded) error {
			changes, err := plan(ctx, []eventstore.Recorded{r})
			for _, receiver := range changes.Set {
				known[receiver.ID] = receiver
			}
			for _, id := range changes.Remove {
				delete(known, id)
			}
			return err
		})
	receivers := make([]outbox.Receiver, 0, len(known))
	for _, r := range known {
		receivers = append(receivers, r)
	}
	return receivers, err
}

// eachSelected calls visit for the events that a filter selects, up to a position.
func eachSelected(
	ctx context.Context, store *eventstore.Store, filter eventstore.Filter,
	upTo eventstore.Position, visit func(eventstore.Recorded) error,
) error {
	if upTo == (eventstore.Position{}) {
		return nil
	}
	selected, err := store.Subscribe(ctx, eventstore.Position{}, filter)
	if err != nil {
		return err
	}
	defer selected.Close()
	for {
		next, err := selected.Next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("read the receivers: %w", err)
		case next.IsEvent && next.Event.Position.After(upTo), next.CaughtUp:
			return nil
		case !next.IsEvent:
			continue
		}
		if err := visit(next.Event); err != nil {
			return err
		}
	}
}

// own follows the log until ctx ends or another process owns the effect.
func (f *Follower) own(ctx context.Context, at checkpoint) error {
	ctx, lose := context.WithCancel(ctx)
	defer lose()
	f.mu.Lock()
	f.at, f.plan, f.lastError, f.lacking = at, nil, "", time.Time{}
	f.mu.Unlock()
	f.owned.Store(true)
	defer f.owned.Store(false)
	f.cfg.Logger.InfoContext(ctx, "effect taken over", slog.String("effect", f.effect.Name),
		slog.Int64("epoch", at.epoch))

	subscriber := subscription.New(f.cfg.Store, subscription.Config{
		Filter: f.effect.Filter,
		Checkpoint: func(ctx context.Context) (eventstore.Position, error) {
			position, err := f.checkpoint(ctx)
			if errors.Is(err, errFenced) {
				lose()
			}
			return position, err
		},
		Delayable: f.effect.Delayable, MaxDelay: f.effect.MaxDelay, Logger: f.cfg.Logger,
		OnError: func(err error) { f.failed(ctx, err) },
	})
	batches, err := subscriber.Subscribe(ctx, "effect "+f.effect.Name)
	if err != nil {
		return err
	}
	var renewing sync.WaitGroup
	renewing.Go(func() { f.renew(ctx, lose) })
	for m := range batches {
		f.handle(ctx, m, lose)
	}
	_ = subscriber.Close() // never fails
	lose()
	renewing.Wait()
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return at.release(releasing, f.cfg.Pool)
}

func (f *Follower) handle(ctx context.Context, m *message.Message, lose func()) {
	err := f.apply(m.Context(), subscription.BatchOf(m))
	switch {
	case err == nil:
		m.Ack()
		return
	case errors.Is(err, errFenced):
		lose()
	}
	f.failed(ctx, err)
	m.Nack()
}

// checkpoint returns the position from which the subscription starts, and makes a new plan. If the
// log has lacked the checkpoint for some time, as a log that was restored from a backup does, the
// effect begins anew at the head of the log.
func (f *Follower) checkpoint(ctx context.Context) (eventstore.Position, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.at.reread(ctx, f.cfg.Pool)
	if err != nil {
		return eventstore.Position{}, err
	}
	if !f.lacking.IsZero() && time.Since(f.lacking) >= replacedAfter {
		f.lacking = time.Time{}
		f.cfg.Logger.WarnContext(ctx, "the log lacks events that the effect has followed, so the "+
			"effect begins at its head", slog.String("effect", f.effect.Name),
			slog.String("error", f.lastError))
		if err := f.begin(ctx, at); err != nil {
			return eventstore.Position{}, err
		}
		if at, err = f.at.reread(ctx, f.cfg.Pool); err != nil {
			return eventstore.Position{}, err
		}
	}
	if err := f.cfg.Store.Fits(ctx, at.position, at.witness, f.effect.Filter); err != nil {
		return eventstore.Position{}, err
	}
	receivers, err := f.outbox.Receivers(ctx)
	if err != nil {
		return eventstore.Position{}, err
	}
	f.at = at
	f.plan, err = f.effect.Begin(ctx, receivers)
	return at.position, err
}

// apply plans a batch, and writes it with the checkpoint.
func (f *Follower) apply(ctx context.Context, batch subscription.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	to, witness := batch.Position, eventlog.Identity{}
	unseen := batch.Events[:0:0]
	for _, r := range batch.Events {
		if r.Position.After(f.at.position) {
			unseen = append(unseen, r)
		}
	}
	if len(unseen) > 0 {
		witness = eventlog.IdentityOf(unseen[len(unseen)-1])
	}
	if len(unseen) == 0 && !to.After(f.at.position) {
		return nil
	}
	changes, err := f.plan(ctx, unseen)
	if err != nil {
		return err
	}
	messages, skipped := f.skipOld(changes.Messages)
	changes.Messages = messages
	if f.at, err = f.at.advance(
		ctx, f.cfg.Pool, to, witness, lease, skipped, changes,
	); err != nil {
		return err
	}
	f.lastError, f.lacking = "", time.Time{}
	if skipped > 0 {
		f.cfg.Logger.WarnContext(ctx, "messages about events from before the start are skipped",
			slog.String("effect", f.effect.Name), slog.Int("messages", skipped),
			slog.String("to", to.String()))
	}
	if awake := receiversOf(messages); len(awake) > 0 {
		f.wake(awake)
	}
	return nil
}

// skipOld returns the messages about events that are not too old, and how many others there are.
func (f *Follower) skipOld(all []outbox.Message) (kept []outbox.Message, skipped int) {
	for i, m := range all {
		if !m.At.Before(f.oldest) {
			return append(kept, all[i:]...), skipped // the later ones are younger
		}
		skipped++
	}
	return kept, skipped
}

func receiversOf(messages []outbox.Message) []uuid.UUID {
	var receivers []uuid.UUID
	seen := make(map[uuid.UUID]bool)
	for _, m := range messages {
		if !seen[m.Receiver] {
			seen[m.Receiver] = true
			receivers = append(receivers, m.Receiver)
		}
	}
	return receivers
}

// failed remembers why there is no progress, until the next batch is applied. It also remembers
// since when the log lacks the checkpoint.
func (f *Follower) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastError = err.Error()
	if lacks := errors.Is(err, eventstore.ErrPositionInvalid); !lacks {
		f.lacking = time.Time{}
	} else if f.lacking.IsZero() {
		f.lacking = time.Now()
	}
}

// renew extends the lease regularly, because there may be no batches that do.
func (f *Follower) renew(ctx context.Context, lose func()) {
	ticker := time.NewTicker(renewalInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		f.mu.Lock()
		at, lastError := f.at, f.lastError
		f.mu.Unlock()
		err := at.renew(ctx, f.cfg.Pool, lease, lastError)
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
