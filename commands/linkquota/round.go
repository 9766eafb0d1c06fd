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

// serveRound reserves links for waiters and refuses those for whom there certainly is no
// reservation. It returns the others: a pending link may still fail, or the read model may count a
// deletion.
func (q *Quotas) serveRound(account string, a *queue, waiters []*waiter) ([]*waiter, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	attempt := round{Quotas: q, queue: a, account: account}
	short, err := attempt.grant(ctx, waiters)
	if err != nil || len(short) == 0 || attempt.full {
		return short, err
	}
	// What this node has in memory may be out of date, so it refuses nothing by itself: the second
	// grant reads everything again.
	head, err := q.cfg.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range short {
		if c.head == (eventstore.Position{}) {
			c.head = head
		}
	}
	attempt.recheck = true
	if short, err = attempt.grant(ctx, short); err != nil {
		return nil, err
	}
	return attempt.refuse(ctx, short)
}

// round is one attempt to reserve links for the waiters of a queue.
type round struct {
	*Quotas
	*queue

	account string
	recheck bool // reads everything again that may have freed a reservation

	existing Existing
	open     int  // pending links whose outcome is open
	full     bool // one event names no more pending links
}

func (r *round) now() time.Time { return r.cfg.Now().UTC().Truncate(time.Microsecond) }

// grant reserves links for the first waiters and returns the waiters without a reservation.
func (r *round) grant(ctx context.Context, waiters []*waiter) ([]*waiter, error) {
	var granted, short []*waiter
	_, err := eventstore.Retry(func() (struct{}, error) {
		var err error
		granted, short, err = r.tryGrant(ctx, waiters)
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("reserve links of an account with limits: %w", err)
	}
	r.answer(r.queue, granted, nil)
	return short, nil
}

func (r *round) tryGrant(
	ctx context.Context, waiters []*waiter,
) (granted, short []*waiter, err error) {
	now := r.now()
	// The read model is queried before the stream is read, so each link that it counts has its
	// reservation in the stream.
	if r.existing, err = r.cfg.Existing(ctx, r.account, now); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	if !r.cached || r.recheck {
		if err := r.load(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := r.resolvePending(ctx, now); err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	created, failed := maps.Clone(r.created), maps.Clone(r.failed)
	r.mu.Unlock()
	before := r.quota.withExisting(r.existing, now)
	after := foldQuota(before.change(nil, failed, created, now))
	var reserved []events.PendingLink
	free := after.nextTime(now)
	for _, c := range waiters {
		r.full = len(after.pending)+len(reserved) >= MaxPending
		if r.full || after.remaining(c.plan, r.existing) <= int64(len(reserved)) {
			short = append(short, c)
			continue
		}
		c.at = free.Add(time.Duration(len(reserved)) * time.Microsecond)
		reserved = append(
			reserved, events.PendingLink{URLID: c.link, At: c.at, Restored: c.restored},
		)
		granted = append(granted, c)
	}
	change := before.change(reserved, failed, created, now)
	if len(change.Reserved)+len(change.Returned) > 0 {
		if err := r.append(ctx, change); err != nil {
			return nil, nil, err
		}
	}
	r.dropReported(created, failed)
	r.open += len(reserved)
	return granted, short, nil
}

// load reads the quota from the last event of the stream.
func (r *round) load(ctx context.Context) error {
	last, err := r.cfg.Store.Last(ctx, events.StreamQuota+r.account)
	if errors.Is(err, eventstore.ErrNotFound) {
		r.cached, r.quota, r.revision = true, quota{}, eventstore.NoStream
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
		return fmt.Errorf("%s has no reservationKey in stream %s", last.Type, last.Stream)
	}
	r.cached, r.quota, r.revision = true, foldQuota(changed), last.Revision
	return nil
}

func (r *round) append(ctx context.Context, change events.QuotaChanged) error {
	r.cached = false // if the append fails, its outcome is unknown
	appended, err := r.cfg.Store.Append(ctx, eventstore.Write{
		Stream: events.StreamQuota + r.account, Expected: r.revision, Command: uuid.New(),
		Metadata: events.Metadata{Account: r.account}, Events: []events.Event{change},
	})
	if err != nil {
		return err
	}
	r.cached, r.quota, r.revision = true, foldQuota(change), appended.Revision
	return nil
}

// dropReported drops the reports that the stream contains by now: those of links that are not
// pending there.
func (r *round) dropReported(created, failed reservationSet) {
	still := reservationSet{}
	for _, p := range r.quota.pending {
		still[keyOf(p)] = struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range failed {
		delete(r.failed, p)
	}
	for p := range created {
		if _, ok := still[p]; !ok {
			delete(r.created, p)
		}
	}
}

// resolvePending looks up the outcome of pending links: always of those older than ClaimTimeout,
// because the node that should report them may be gone, and of all in a recheck.
func (r *round) resolvePending(ctx context.Context, now time.Time) error {
	var unknown []events.PendingLink
	r.mu.Lock()
	for _, p := range r.quota.pending {
		if !r.created.has(p) && !r.failed.has(p) && (r.recheck ||
			now.Sub(p.At) >= hashes.ClaimTimeout) {
			unknown = append(unknown, p)
		}
	}
	r.mu.Unlock()
	outcomes, errs := make([]outcome, len(unknown)), make([]error, len(unknown))
	batch.Run(len(unknown), func(int) []string { return nil }, func(i int) {
		outcomes[i], errs[i] = r.resolve(ctx, unknown[i], now)
	})
	r.open = 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range unknown {
		if outcomes[i] == outcomeOpen {
			r.open++
		} else {
			r.report(keyOf(p), outcomes[i] == outcomeCreated)
		}
	}
	return errors.Join(errs...)
}

// resolve looks up the outcome of a pending link. It abandons a link that is older than
// ClaimTimeout, so that a late creation fails.
func (r *round) resolve(ctx context.Context, p events.PendingLink, now time.Time) (outcome, error) {
	stream := events.StreamURL + p.URLID
	recorded, err := r.cfg.Store.Load(ctx, stream)
	if err != nil {
		return outcomeOpen, err
	}
	history := make([]events.Event, len(recorded))
	for i := range recorded {
		if history[i], err = recorded[i].Event(); err != nil {
			return outcomeOpen, err
		}
	}
	found := outcomeOf(p, history)
	if found != outcomeOpen || now.Sub(p.At) < hashes.ClaimTimeout {
		return found, nil
	}
	_, err = r.cfg.Store.Append(ctx, eventstore.Write{
		Stream: stream, Expected: eventstore.Revision(len(recorded)) - 1, Command: uuid.New(),
		Events: []events.Event{events.CreationAbandoned{At: now}},
	})
	// Another event was faster: the link itself, or another node that abandoned it.
	if errors.Is(err, eventstore.ErrWrongRevision) {
		return outcomeOpen, nil
	}
	return outcomeFailed, err
}

// refuse refuses the waiters for whom there certainly is no reservation, or who have waited for
// readModelTimeout. It returns the others.
func (r *round) refuse(ctx context.Context, short []*waiter) ([]*waiter, error) {
	var waiting []*waiter
	now := r.now()
	for _, c := range short {
		certain := r.quota.withExisting(r.existing, now).remaining(
			c.plan, r.existing,
		)+int64(r.open) <= 0
		if certain && c.head.After(r.existing.position()) {
			missing, err := r.cfg.Store.Backlog(
				ctx, r.existing.position(), eventstore.Filter{Streams: []string{events.StreamURL}},
				1,
			)
			if err != nil {
				return nil, err
			}
			if certain = missing.Events == 0; certain {
				// no event of a link lies between
				r.existing.Commit, r.existing.Prepare = c.head.Commit, c.head.Prepare
			}
		}
		if r.full || !certain && time.Since(c.since) < readModelTimeout {
			waiting = append(waiting, c)
			continue
		}
		r.answer(r.queue, []*waiter{c}, c.refusal(r.existing, r.quota))
	}
	return waiting, nil
}

// refusal returns the error that names the limit that is reached.
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
