// Package level compares a read model with the current log. It finds the position of the log that
// the read model has to reach. Once the read model has reached that position, a row that it lacks
// does not exist.
//
// A read model that lacks a link proves nothing by itself. A client may have been told that the
// link exists, although its event is not applied yet: the projection may be paused, have no owner,
// or be unable to write. The proof has two parts. The first is the checkpoint of the read model in
// the very snapshot that lacks the link. The second is that the log, read after the request for the
// link came, has no event about links after that checkpoint.
package level

import (
	"context"
	"errors"
	"sync"
	"time"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/logreader"
)

const (
	// Timeout is how long a caller waits for the log.
	Timeout = 1500 * time.Millisecond
	// pause is the least time between two looks at the log, for all callers together.
	pause = 4 * time.Millisecond
)

// ErrFarBehind means that a read model lacks more events than one look at the log reads.
var ErrFarBehind = errors.New("the read model is far behind the log")

// Log looks at the events of the log about one kind of object, such as links. It is safe for
// concurrent use. Calls that arrive during a look share the next look, so many calls cost no more
// looks than a few.
type Log struct {
	follow func(context.Context, eventstore.Position) (logreader.Following, error)

	mu      sync.Mutex
	running bool
	next    *look // of callers that came while a look runs
	// The log has no event of the filter after latest and up to seen.
	latest, seen eventstore.Position
}

// look is one look at the log, with the result for the callers that wait for it.
type look struct {
	from   eventstore.Position // the highest checkpoint of the callers
	done   chan struct{}       // closed when the rest is valid
	latest eventstore.Position
	err    error
}

// OfLinks returns the Log of the events that change where a hash leads to.
func OfLinks(store *eventstore.Store) *Log {
	return newLog(store, eventstore.Filter{
		Streams: []string{events.StreamURL, events.StreamHash},
	})
}

// OfAccounts returns the Log of the events that change accounts.
func OfAccounts(store *eventstore.Store) *Log {
	return newLog(store, eventstore.Filter{Streams: []string{events.StreamAccount}})
}

func newLog(store *eventstore.Store, filter eventstore.Filter) *Log {
	return &Log{follow: func(
		ctx context.Context, behind eventstore.Position,
	) (logreader.Following, error) {
		return store.Following(ctx, behind, filter)
	}}
}

// Latest returns the position of the last event, of the kind that l looks at, that the log had when
// the call began, or the checkpoint if that is later. A read model with a checkpoint at or after
// the result has all events of that kind that were recorded before the call.
//
// It fails with ErrFarBehind if more events follow the checkpoint than one look reads, with
// eventstore.ErrPositionInvalid if the checkpoint is not in the log, and with
// eventstore.ErrUnavailable if the event store does not answer within Timeout.
func (l *Log) Latest(
	ctx context.Context, checkpoint eventstore.Position,
) (eventstore.Position, error) {
	joined := l.join(ctx, checkpoint)
	select {
	case <-joined.done:
	case <-ctx.Done():
		return eventstore.Position{}, ctx.Err()
	}
	if joined.err != nil {
		return eventstore.Position{}, joined.err
	}
	if checkpoint.After(joined.latest) {
		return checkpoint, nil
	}
	return joined.latest, nil
}

// join returns a look that begins after the call. It starts run if run has ended.
func (l *Log) join(ctx context.Context, checkpoint eventstore.Position) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &look{done: make(chan struct{})}
	}
	if joined := l.next; checkpoint.After(joined.from) {
		joined.from = checkpoint
	}
	joined := l.next
	if !l.running {
		l.running = true
		go l.run(context.WithoutCancel(ctx))
	}
	return joined
}

// run looks at the log until no caller waits.
func (l *Log) run(ctx context.Context) {
	for {
		l.mu.Lock()
		next := l.next
		l.next = nil
		if next == nil {
			l.running = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		began := time.Now()
		l.look(ctx, next)
		close(next.done)
		l.mu.Lock()
		waited := l.next != nil
		l.mu.Unlock()
		if waited {
			<-time.After(pause - time.Since(began))
		}
	}
}

// look reads the part of the log that is not known yet.
func (l *Log) look(ctx context.Context, of *look) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if of.from.After(l.seen) {
		// The events between seen and the checkpoint are not known, but none of them lies after the
		// checkpoint.
		l.latest, l.seen = of.from, of.from
	}
	found, err := l.follow(ctx, l.seen)
	if err != nil && l.seen != of.from {
		// The log may have been replaced, such as by an older copy.
		l.latest, l.seen = of.from, of.from
		found, err = l.follow(ctx, l.seen)
	}
	switch {
	case err != nil:
		of.err = err
		return
	case found.More:
		l.latest, l.seen = found.Last, found.Last
		of.err = ErrFarBehind
		return
	case found.Last != (eventstore.Position{}):
		l.latest, l.seen = found.Last, found.Last
	}
	if found.Head.After(l.seen) {
		l.seen = found.Head
	}
	of.latest = l.latest
}
