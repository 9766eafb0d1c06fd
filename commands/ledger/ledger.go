// Package ledger keeps counters exact over all nodes. The last event of a counter's stream holds
// its whole state. Each change appends the next event at exactly the revision of the last one, so
// if two nodes compete, one fails and decides again. The package does not know what a counter
// counts.
package ledger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"linkledger/events/eventstore"
)

const (
	// maxIdle bounds the idle counters that a node keeps in memory.
	maxIdle = 10_000
	// pause is how long requests without an answer wait for the next round.
	pause = 25 * time.Millisecond
)

// Serve decides on requests about one counter, and answers the requests that it has decided. Serve
// is called again with the unanswered requests after a pause, or once another request arrives. If
// it returns eventstore.ErrWrongRevision, it is called again at once. Any other error is the answer
// to all unanswered requests. Calls about one counter do not overlap.
type Serve[R request] func(ctx context.Context, requests []R) error

// request is a struct that embeds Reply.
type request interface{ reply() *Reply }

// Reply is the part of a request that its caller waits for.
type Reply struct {
	done     chan struct{} // closed when err is valid
	answered bool
	err      error
}

func (r *Reply) reply() *Reply { return r }

// Answer ends the wait of the caller with the answer err. Outside this package, only a Serve may
// call it, and only once for each request.
func (r *Reply) Answer(err error) {
	r.answered, r.err = true, err
	close(r.done)
}

// Wait returns the answer. If ctx ends before the answer, the request stays, and the caller may
// wait again.
func (r *Reply) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("wait for a counter: %w", ctx.Err())
	}
}

// Ledger joins concurrent requests about a counter into rounds, so that they share an append. It is
// safe for concurrent use.
type Ledger[R request] struct {
	timeout time.Duration
	open    func(key string) Serve[R]

	mu       sync.Mutex
	counters map[string]*counter[R]
}

// counter has the requests about one counter.
type counter[R request] struct {
	serve    Serve[R]
	requests []R
	serving  bool          // a goroutine serves the counter
	asked    chan struct{} // holds a token after a request
}

// New returns a ledger. open returns the Serve of a counter. The Serve may keep state between its
// calls, because the ledger forgets a counter only while it is idle. timeout bounds each round.
func New[R request](timeout time.Duration, open func(key string) Serve[R]) *Ledger[R] {
	return &Ledger[R]{timeout: timeout, open: open, counters: make(map[string]*counter[R])}
}

// Ask puts a request into the next round of a counter, behind all earlier ones.
func (l *Ledger[R]) Ask(key string, r R) {
	r.reply().done = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.counters[key]
	if !ok {
		c = &counter[R]{serve: l.open(key), asked: make(chan struct{}, 1)}
		l.counters[key] = c
	}
	c.requests = append(c.requests, r)
	if !c.serving {
		c.serving = true
		go l.run(key, c)
		return
	}
	select {
	case c.asked <- struct{}{}:
	default:
	}
}

// run serves a counter until it has no requests.
func (l *Ledger[R]) run(key string, c *counter[R]) {
	var requests []R
	for {
		l.mu.Lock()
		requests = append(requests, c.requests...)
		c.requests = nil
		if len(requests) == 0 {
			c.serving = false
			if len(l.counters) > maxIdle {
				delete(l.counters, key)
			}
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		if requests = l.round(c, requests); len(requests) > 0 {
			select {
			case <-c.asked:
			case <-time.After(pause):
			}
		}
	}
}

// round serves requests once and returns those without an answer.
func (l *Ledger[R]) round(c *counter[R], requests []R) []R {
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	answered := func(r R) bool { return r.reply().answered }
	_, err := eventstore.Retry(func() (struct{}, error) {
		requests = slices.DeleteFunc(requests, answered)
		return struct{}{}, c.serve(ctx, requests)
	})
	requests = slices.DeleteFunc(requests, answered)
	if err == nil {
		return requests
	}
	for _, r := range requests {
		r.reply().Answer(err)
	}
	return nil
}
