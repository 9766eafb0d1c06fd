// Package clicklimit keeps limits of clicks exactly, across all nodes: a link with a limit of n
// clicks redirects n times.
package clicklimit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"linkledger/commands/ledger"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// timeout bounds how long visitors of a link with a limit wait for the event store.
const timeout = 2 * time.Second

// Limiter keeps the clicks of a link within the link's limit, across all nodes. Before a redirect,
// it takes the visitor's click: it appends an event to a stream of the link, at the stream's exact
// revision. Visitors of one link who arrive during an append share the next append.
//
// A click that was taken counts as used, even if the visitor leaves or the node stops before the
// redirect. Limiter is safe for concurrent use.
type Limiter struct{ ledger *ledger.Ledger[*request] }

// request is a visitor who waits for a click.
type request struct {
	ledger.Reply

	limit   int64
	counted int64 // clicks in the read models, also from before the limit was set
	peek    bool  // asks whether a click is left, and takes none
	granted bool
}

// New returns the limiter of a node. If now is nil, it uses time.Now.
func New(store *eventstore.Store, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{ledger.New(timeout, func(urlID string) ledger.Serve[*request] {
		used := ledger.NewStream[events.AllowanceUsed](store, events.StreamAllowance+urlID)
		return func(ctx context.Context, requests []*request) error {
			return serve(ctx, used, now, requests)
		}
	})}
}

// Take takes one click of a link. The link allows limit clicks in total. counted is the number of
// its clicks in the read models. Take returns false if all clicks are used. If the event store is
// unavailable, the number of used clicks is unknown, and Take fails with ErrUnavailable.
func (l *Limiter) Take(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return l.ask(ctx, urlID, &request{limit: limit, counted: counted})
}

// Left reports whether a click is left, and takes none.
func (l *Limiter) Left(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return l.ask(ctx, urlID, &request{limit: limit, counted: counted, peek: true})
}

func (l *Limiter) ask(ctx context.Context, urlID string, r *request) (bool, error) {
	l.ledger.Ask(urlID, r)
	if err := r.Wait(ctx); err != nil {
		return false, fmt.Errorf("take a click of a link with a limit: %w", err)
	}
	return r.granted, nil
}

// serve grants the clicks that are left, in one append.
func serve(
	ctx context.Context, stream *ledger.Stream[events.AllowanceUsed], now func() time.Time,
	requests []*request,
) error {
	if slices.ContainsFunc(requests, func(r *request) bool { return r.peek }) {
		stream.Forget() // without an append, clicks of other nodes would go unnoticed
	}
	last, err := stream.Last(ctx)
	if err != nil {
		return err
	}
	if clicks, used := grant(last.Used, requests); clicks > 0 {
		err = stream.Append(ctx, stream.Next(events.AllowanceUsed{
			Clicks: clicks, Used: used, At: now().UTC().Truncate(time.Microsecond),
		}))
	}
	if err != nil {
		return err
	}
	for _, r := range requests {
		r.Answer(nil)
	}
	return nil
}

// grant decides which requests get a click, the first requests first. It returns the number of
// granted clicks, and the number of used clicks including those. Clicks that were counted before
// the link had a limit count as used.
func grant(used int64, requests []*request) (clicks, after int64) {
	for _, r := range requests {
		used = max(used, r.counted)
	}
	for _, r := range requests {
		r.granted = used < r.limit
		if r.granted && !r.peek {
			clicks++
			used++
		}
	}
	return clicks, used
}
