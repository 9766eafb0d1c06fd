package linkquota

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// share gives claimants the room that there is, and refuses those for whom there certainly is none.
// The others are returned: a link that is under way may give its room back, or the read model may
// learn of a deletion.
func (q *Quotas) share(account string, a *queue, claimants []*waiter) ([]*waiter, error) {
	ctx, cancel := context.WithTimeout(context.Background(), quotaTimeout)
	defer cancel()
	round := round{Quotas: q, queue: a, account: account}
	short, err := round.run(ctx, claimants)
	if err != nil || len(short) == 0 || round.full {
		return short, err
	}
	// Nobody is refused for what this node remembers.
	head, err := q.cfg.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range short {
		if c.head == (eventstore.Position{}) {
			c.head = head
		}
	}
	round.thorough = true
	if short, err = round.run(ctx, short); err != nil {
		return nil, err
	}
	return round.refuse(ctx, short)
}

// round is one attempt to give room.
type round struct {
	*Quotas
	*queue

	account  string
	thorough bool // asks again for everything that may have given room back

	existing Existing
	open     int  // pending links that may still come
	full     bool // no more of them fit
}

func (r *round) now() time.Time { return r.cfg.Now().UTC().Truncate(time.Microsecond) }

// run gives room to the first of the claimants and returns those for whom there was none.
func (r *round) run(ctx context.Context, claimants []*waiter) ([]*waiter, error) {
	var granted, short []*waiter
	_, err := eventstore.Retry(func() (struct{}, error) {
		var err error
		granted, short, err = r.try(ctx, claimants)
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("take room for links of an account with limits: %w", err)
	}
	r.answer(r.queue, granted, nil)
	return short, nil
}

func (r *round) try(
	ctx context.Context, claimants []*waiter,
) (granted, short []*waiter, err error) {
	now := r.now()
	// Before the stream is read: what exists has had its room in there.
	if r.existing, err = r.cfg.Existing(ctx, r.account, now); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	if !r.known || r.thorough {
		if err := r.learn(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := r.settle(ctx, now); err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	came, never := maps.Clone(r.queue.came), maps.Clone(r.never)
	r.mu.Unlock()
	before := r.quota.knowing(r.existing, now)
	after := foldQuota(before.change(nil, never, came, now))
	var reserved []events.PendingLink
	free := after.free(now)
	for _, c := range claimants {
		r.full = len(after.pending)+len(reserved) >= MaxPending
		if r.full || after.left(c.plan, r.existing) <= int64(len(reserved)) {
			short = append(short, c)
			continue
		}
		c.at = free.Add(time.Duration(len(reserved)) * time.Microsecond)
		reserved = append(
			reserved, events.PendingLink{URLID: c.link, At: c.at, Restored: c.restored},
		)
		granted = append(granted, c)
	}
	change := before.change(reserved, never, came, now)
	if len(change.Reserved)+len(change.Returned) > 0 {
		if err := r.append(ctx, change); err != nil {
			return nil, nil, err
		}
	}
	r.forget(came, never)
	r.open += len(reserved)
	return granted, short, nil
}

// learn reads the last event of the stream.
func (r *round) learn(ctx context.Context) error {
	last, err := r.cfg.Store.Last(ctx, events.StreamQuota+r.account)
	if errors.Is(err, eventstore.ErrNotFound) {
		r.known, r.quota, r.revision = true, quota{}, eventstore.NoStream
		return nil
	}
	if err != nil {
		return err
	}
	e, err := last.Event()
	if err != nil {
		return err
	}
	changed, ok := e.(events.QuotaChanged)
	if !ok {
		return fmt.Errorf("%s has no place in stream %s", last.Type, last.Stream)
	}
	r.known, r.quota, r.revision = true, foldQuota(changed), last.Revision
	return nil
}

func (r *round) append(ctx context.Context, change events.QuotaChanged) error {
	r.known = false // until the outcome is known
	appended, err := r.cfg.Store.Append(ctx, eventstore.Write{
		Stream: events.StreamQuota + r.account, Expected: r.revision, Command: uuid.New(),
		Metadata: events.Metadata{Account: r.account}, Events: []events.Event{change},
	})
	if err != nil {
		return err
	}
	r.known, r.quota, r.revision = true, foldQuota(change), appended.Revision
	return nil
}

// forget drops reports that are in the stream by now: those of links that are not pending there.
func (r *round) forget(came, never places) {
	still := places{}
	for _, p := range r.quota.pending {
		still[placeOf(p)] = struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range never {
		delete(r.never, p)
	}
	for p := range came {
		if _, ok := still[p]; !ok {
			delete(r.queue.came, p)
		}
	}
}

// settle finds out what became of the pending links: of the old ones always, because nobody may be
// left to report them, and of all of them where that may yield room.
func (r *round) settle(ctx context.Context, now time.Time) error {
	var unknown []events.PendingLink
	r.mu.Lock()
	for _, p := range r.quota.pending {
		if !r.queue.came.has(p) && !r.never.has(p) && (r.thorough ||
			now.Sub(p.At) >= hashes.ClaimTimeout) {
			unknown = append(unknown, p)
		}
	}
	r.mu.Unlock()
	fates, errs := make([]fate, len(unknown)), make([]error, len(unknown))
	batch.Run(len(unknown), func(int) []string { return nil }, func(i int) {
		fates[i], errs[i] = r.find(ctx, unknown[i], now)
	})
	r.open = 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range unknown {
		if fates[i] == fateOpen {
			r.open++
		} else {
			r.report(placeOf(p), fates[i] == fateCame)
		}
	}
	return errors.Join(errs...)
}

// find looks for a pending link. One that should have come long ago is kept from coming.
func (r *round) find(ctx context.Context, p events.PendingLink, now time.Time) (fate, error) {
	stream := events.StreamURL + p.URLID
	recorded, err := r.cfg.Store.Load(ctx, stream)
	if err != nil {
		return fateOpen, err
	}
	history := make([]events.Event, len(recorded))
	for i := range recorded {
		if history[i], err = recorded[i].Event(); err != nil {
			return fateOpen, err
		}
	}
	found := fateOf(p, history)
	if found != fateOpen || now.Sub(p.At) < hashes.ClaimTimeout {
		return found, nil
	}
	_, err = r.cfg.Store.Append(ctx, eventstore.Write{
		Stream: stream, Expected: eventstore.Revision(len(recorded)) - 1, Command: uuid.New(),
		Events: []events.Event{events.CreationAbandoned{At: now}},
	})
	// it came after all, or somebody else was faster
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return fateOpen, nil
	}
	return fateNever, err
}

// refuse refuses those claimants for whom there certainly is no room, or who have waited long
// enough, and returns the others.
func (r *round) refuse(ctx context.Context, short []*waiter) ([]*waiter, error) {
	var waiting []*waiter
	now := r.now()
	for _, c := range short {
		certain := r.quota.knowing(r.existing, now).left(c.plan, r.existing)+int64(r.open) <= 0
		if certain && c.head.After(r.existing.position()) {
			missing, err := r.cfg.Store.Backlog(
				ctx, r.existing.position(), eventstore.Filter{Streams: []string{events.StreamURL}},
				1,
			)
			if err != nil {
				return nil, err
			}
			if certain = missing.Events == 0; certain {
				r.existing.Commit, r.existing.Prepare = c.head.Commit, c.head.Prepare // as good as
			}
		}
		if r.full || !certain && time.Since(c.since) < readModelPatience {
			waiting = append(waiting, c)
			continue
		}
		r.answer(r.queue, []*waiter{c}, c.refusal(r.existing, r.quota))
	}
	return waiting, nil
}

// refusal says which limit is reached.
func (c *waiter) refusal(e Existing, q quota) error {
	if c.plan.URLs > 0 && max(q.taken, e.Created)-e.Deleted >= c.plan.URLs {
		return domain.Refuse(
			domain.URLLimitReached,
			"The account has the %d URLs that its plan allows, delete some first", c.plan.URLs,
		)
	}
	return domain.Refuse(
		domain.URLLimitReached,
		"The account has created the %d URLs that its plan allows in a month", c.plan.MonthURLs,
	)
}
