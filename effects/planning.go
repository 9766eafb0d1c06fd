package effects

// This file plans batches of the log, and writes what there is to do.

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"linkledger/effects/outbox"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/subscription"
)

// apply plans a batch. It writes what there is to do with the checkpoint.
func (f *follower) apply(ctx context.Context, batch subscription.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed {
		return nil // another subscription gets these events
	}
	unseen := batch.Events[:0:0]
	for _, r := range batch.Events {
		if r.Position.After(f.seen) {
			unseen = append(unseen, r)
		}
	}
	if !f.idle {
		return f.applyPart(ctx, unseen, batch.Position)
	}
	// The first receiver gets all events after its own, which this subscription does not have. So
	// the checkpoint stays at the event that makes the receiver.
	for i := range unseen {
		if err := f.applyPart(ctx, unseen[i:i+1], unseen[i].Position); err != nil || f.changed {
			return err
		}
	}
	return f.applyPart(ctx, nil, batch.Position)
}

// applyPart plans events, and writes the checkpoint if there is something to do or if it was not
// written for some time.
func (f *follower) applyPart(
	ctx context.Context, unseen []eventstore.Recorded, to eventstore.Position,
) error {
	if len(unseen) == 0 && !to.After(f.seen) {
		return nil
	}
	changes, err := f.planned(ctx, unseen)
	if err != nil {
		return err
	}
	f.seen = to
	if len(unseen) > 0 {
		f.witness = eventlog.IdentityOf(unseen[len(unseen)-1])
	}
	f.lastError.Store(nil)
	f.lacking, f.replaced = time.Time{}, false
	if changes.IsEmpty() && time.Since(f.written) < writeInterval {
		return nil
	}
	return f.write(ctx, changes)
}

// write moves the checkpoint to what is planned, and writes the changes.
func (f *follower) write(ctx context.Context, changes outbox.Changes) (err error) {
	messages, skipped := f.skipOld(changes.Messages)
	changes.Messages = messages
	if f.at, err = f.at.advance(
		ctx, f.cfg.Pool, f.seen, f.witness, lease, skipped, changes,
	); err != nil {
		f.seen, f.witness = f.at.position, eventlog.Identity{} // nothing was written
		return err
	}
	f.written = time.Now()
	for _, r := range changes.Set {
		f.receivers[r.ID] = true
	}
	for _, id := range changes.Remove {
		delete(f.receivers, id)
	}
	f.changed = f.idle != (len(f.receivers) == 0)
	if skipped > 0 {
		f.cfg.Logger.WarnContext(ctx, "messages about events from before the start are skipped",
			slog.String("effect", f.effect.Name), slog.Int("messages", skipped),
			slog.String("to", f.seen.String()))
	}
	if awake := receiversOf(messages); len(awake) > 0 {
		f.wake(awake)
	}
	return nil
}

// planned returns what the plan changes. A plan that panics fails, and the service goes on.
func (f *follower) planned(
	ctx context.Context, batch []eventstore.Recorded,
) (changes outbox.Changes, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	return f.plan(ctx, batch)
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	}
}

// skipOld returns the messages about events that are not too old, and how many others there are.
func (f *follower) skipOld(all []outbox.Message) (kept []outbox.Message, skipped int) {
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
