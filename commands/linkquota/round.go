package linkquota

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/ledger"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// accountQuota is the quota of one account on this node. Only its goroutine of the ledger uses it.
type accountQuota struct {
	Config

	id      string
	stream  *ledger.Stream[events.QuotaChanged]
	created reservationSet // pending links that were created
	failed  reservationSet // pending links whose reservations are to be given back
}

// serve reserves links and refuses links that certainly get no reservation. The other requests
// wait, because a pending link may still fail, or the read model may still count a deletion.
func (a *accountQuota) serve(ctx context.Context, requests []*request) error {
	var waiting []*request
	for _, q := range requests {
		switch {
		case q.left.Load():
			q.Answer(context.Canceled)
		case q.outcome == outcomeOpen:
			waiting = append(waiting, q)
		default:
			a.report(q.link, q.outcome)
			q.Answer(nil)
		}
	}
	if len(waiting) == 0 && len(a.failed) == 0 {
		return nil
	}
	r := round{accountQuota: a}
	if err := r.run(ctx, waiting); err != nil {
		return fmt.Errorf("reserve links of an account with limits: %w", err)
	}
	return nil
}

// report notes the outcome of a pending link.
func (a *accountQuota) report(p events.PendingLink, o outcome) {
	switch o {
	case outcomeCreated:
		a.created[keyOf(p)] = struct{}{}
	case outcomeFailed:
		a.failed[keyOf(p)] = struct{}{}
	case outcomeOpen:
	}
}

// round is one attempt to reserve links of an account.
type round struct {
	*accountQuota

	recheck bool // reads everything again that may have freed a reservation

	quota    quota
	existing Existing
	open     int  // pending links whose outcome is open
	full     bool // there are MaxPending pending links
}

func (r *round) now() time.Time { return r.Now().UTC().Truncate(time.Microsecond) }

// run first decides on what this node has in memory. Before it refuses a link, it reads everything
// again.
func (r *round) run(ctx context.Context, waiting []*request) error {
	short, err := r.grant(ctx, waiting)
	if err != nil || len(short) == 0 || r.full {
		return err
	}
	head, err := r.Store.Head(ctx)
	if err != nil {
		return err
	}
	for _, q := range short {
		if q.head == (eventstore.Position{}) {
			q.head = head
		}
	}
	r.recheck = true
	if short, err = r.grant(ctx, short); err != nil {
		return err
	}
	return r.refuse(ctx, short)
}

// grant reserves links, the first requests first. short are the requests that got no reservation.
func (r *round) grant(ctx context.Context, waiting []*request) (short []*request, err error) {
	now := r.now()
	// The read model is queried before the stream is read, so each link that it counts has its
	// reservation in the stream.
	if r.existing, err = r.Existing(ctx, r.id, now); err != nil {
		return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	if r.recheck {
		r.stream.Forget()
	}
	last, err := r.stream.Last(ctx)
	if err != nil {
		return nil, err
	}
	r.quota = foldQuota(last, now)
	if err := r.resolvePending(ctx, now); err != nil {
		return nil, err
	}
	before := r.quota.withExisting(r.existing, now)
	after := foldQuota(before.change(nil, r.failed, r.created, now), now)
	var granted []*request
	var reserved []events.PendingLink
	free := after.nextTime(now)
	for _, q := range waiting {
		r.full = len(after.pending)+len(reserved) >= MaxPending
		if r.full || after.remaining(q.plan, r.existing) <= int64(len(reserved)) {
			short = append(short, q)
			continue
		}
		q.link.At = free.Add(time.Duration(len(reserved)) * time.Microsecond)
		reserved = append(reserved, q.link)
		granted = append(granted, q)
	}
	change := before.change(reserved, r.failed, r.created, now)
	if len(change.Reserved)+len(change.Returned) > 0 {
		write := r.stream.Next(change)
		write.Metadata.Account = r.id
		if err := r.stream.Append(ctx, write); err != nil {
			return nil, err
		}
		r.quota = foldQuota(change, now)
	}
	r.dropReported()
	r.open += len(reserved)
	for _, q := range granted {
		q.Answer(nil)
	}
	return short, nil
}

// dropReported drops the reports of links that are not pending in the stream.
func (r *round) dropReported() {
	pending := reservationSet{}
	for _, p := range r.quota.pending {
		pending[keyOf(p)] = struct{}{}
	}
	clear(r.failed) // the change has given them back
	maps.DeleteFunc(r.created, func(p reservationKey, _ struct{}) bool {
		_, ok := pending[p]
		return !ok
	})
}

// resolvePending looks up the outcome of pending links: always of those older than ClaimTimeout,
// because the node that should report them may be gone, and of all in a recheck.
func (r *round) resolvePending(ctx context.Context, now time.Time) error {
	var unknown []events.PendingLink
	for _, p := range r.quota.pending {
		if !r.created.has(p) && !r.failed.has(p) && (r.recheck ||
			events.IsOver(p.At, now, hashes.ClaimTimeout)) {
			unknown = append(unknown, p)
		}
	}
	outcomes, errs := make([]outcome, len(unknown)), make([]error, len(unknown))
	batch.Run(len(unknown), func(int) []string { return nil }, func(i int) {
		outcomes[i], errs[i] = r.resolve(ctx, unknown[i], now)
	})
	r.open = 0
	for i, p := range unknown {
		if r.report(p, outcomes[i]); outcomes[i] == outcomeOpen {
			r.open++
		}
	}
	return errors.Join(errs...)
}

// resolve looks up the outcome of a pending link. It abandons a link that is older than
// ClaimTimeout, so that a late creation fails.
func (r *round) resolve(ctx context.Context, p events.PendingLink, now time.Time) (outcome, error) {
	stream := events.LinkStream(p.URLID)
	recorded, err := r.Store.Load(ctx, stream)
	if err != nil {
		return outcomeOpen, err
	}
	var history []events.Event
	var undecoded error
	for i := range recorded {
		e, err := recorded[i].Event()
		if err != nil {
			undecoded = err
			continue
		}
		history = append(history, e)
	}
	found := outcomeOf(p, r.id, history)
	if undecoded != nil {
		if found != outcomeCreated { // the link may have been created, so its reservation stays
			found = outcomeOpen
		}
		return found, nil
	}
	if found != outcomeOpen || !events.IsOver(p.At, now, hashes.ClaimTimeout) {
		return found, nil
	}
	_, err = r.Store.Append(ctx, eventstore.Write{
		Stream: stream, Expected: eventstore.Revision(len(recorded)) - 1, Command: uuid.New(),
		Events: []events.Event{events.CreationAbandoned{At: now}},
	})
	switch {
	case errors.Is(err, eventstore.ErrWrongRevision):
		return outcomeOpen, nil // the link was created first, or another node abandoned it
	case err != nil:
		return outcomeOpen, err // without the event a late creation would succeed
	}
	return outcomeFailed, nil
}

// refuse refuses links that certainly get no reservation or have waited for readModelTimeout.
func (r *round) refuse(ctx context.Context, short []*request) error {
	before := r.quota.withExisting(r.existing, r.now())
	// One query is enough for all requests, because their heads of the log were read before it.
	readModelLags := sync.OnceValues(func() (bool, error) {
		missing, err := r.Store.Backlog(
			ctx, r.existing.position(),
			eventstore.Filter{Streams: []string{events.StreamURL, events.StreamHash}}, 1,
		)
		return missing.Events > 0, err
	})
	for _, q := range short {
		certain := before.remaining(q.plan, r.existing)+int64(r.open) <= 0
		if certain && q.head.After(r.existing.position()) {
			lags, err := readModelLags()
			if err != nil {
				return err
			}
			certain = !lags
		}
		if !r.full && (certain || time.Since(q.since) >= readModelTimeout) {
			q.Answer(q.refusal(r.existing, r.quota))
		}
	}
	return nil
}

// refusal returns the error that names the limit that is reached.
func (q *request) refusal(e Existing, at quota) error {
	if q.plan.URLs > 0 && max(at.taken, e.Created)-e.Deleted >= q.plan.URLs {
		return domain.Refuse(
			domain.URLLimitReached,
			"The account has the %d URLs that its plan allows, delete some first", q.plan.URLs,
		)
	}
	return domain.Refuse(
		domain.URLLimitReached,
		"The account has created the %d URLs that its plan allows in a month", q.plan.MonthURLs,
	)
}
