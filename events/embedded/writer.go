package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// ErrClosed is returned by a store that is closing or closed.
var ErrClosed = errors.New("event store is closed")

// ErrFailed is wrapped by every refusal after a commit could not be synced.
// What was acknowledged before is safe; close the store, mend the disk, open it
// again.
var ErrFailed = errors.New("event store accepts no writes: a commit failed")

const (
	writeQueueLen = 1024
	groupRequests = 512
	groupBytes    = 4 << 20
)

// write is one request to the writer. plan runs on the writer's goroutine.
type write struct {
	ctx  context.Context
	plan func(*ledger) outcome
	size int          // bytes of events
	done chan outcome // has room for the one answer
}

// writer commits what is waiting, group by group.
type writer struct {
	ledger  *ledger
	noSync  bool
	publish func([]*record, counters)

	queue   chan *write
	quit    chan struct{} // closed to stop
	stopped chan struct{} // closed when run has returned
	failed  chan struct{} // closed after a failed commit
	failure atomic.Pointer[error]
}

func newWriter(l *ledger, noSync bool, publish func([]*record, counters)) *writer {
	return &writer{
		ledger:  l,
		noSync:  noSync,
		publish: publish,
		queue:   make(chan *write, writeQueueLen),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
		failed:  make(chan struct{}),
	}
}

// fail refuses all further writes. Only the first cause is kept.
func (w *writer) fail(cause error) {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	if w.failure.CompareAndSwap(nil, &err) {
		close(w.failed)
	}
}

// err is the reason why the writer accepts nothing, or nil.
func (w *writer) err() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// enqueue hands a request over; it waits while the queue is full.
func (w *writer) enqueue(ctx context.Context, size int, plan func(*ledger) outcome) (*write, error) {
	req := &write{ctx: ctx, plan: plan, size: size, done: make(chan outcome, 1)}
	select {
	case <-w.quit:
		return nil, ErrClosed
	default:
	}
	select {
	case w.queue <- req:
		return req, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.quit:
		return nil, ErrClosed
	}
}

// wait returns the answer to a request. A request whose caller gives up may be
// written all the same.
func (w *writer) wait(ctx context.Context, req *write) outcome {
	select {
	case out := <-req.done:
		return out
	case <-ctx.Done():
		return outcome{err: ctx.Err()}
	case <-w.stopped:
	}
	select {
	case out := <-req.done:
		return out
	default: // queued after the writer had looked for the last time
		return outcome{err: ErrClosed}
	}
}

func (w *writer) submit(ctx context.Context, size int, plan func(*ledger) outcome) outcome {
	req, err := w.enqueue(ctx, size, plan)
	if err != nil {
		return outcome{err: err}
	}
	return w.wait(ctx, req)
}

func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case first := <-w.queue:
			w.commit(w.gather(first))
		case <-w.quit:
			return
		}
	}
}

// gather takes what is waiting. It never waits for more: the group grows by
// itself while the one before it syncs.
func (w *writer) gather(first *write) []*write {
	group := []*write{first}
	for bytes := first.size; len(group) < groupRequests && bytes < groupBytes; {
		select {
		case req := <-w.queue:
			group = append(group, req)
			bytes += req.size
		default:
			return group
		}
	}
	return group
}

// commit decides the requests in order, makes the group durable and answers.
// Refusals are held back too: they may rest on a neighbour of the same group.
func (w *writer) commit(group []*write) {
	answers := make([]outcome, len(group))
	w.ledger.begin()
	for i, req := range group {
		answers[i] = w.plan(req)
	}
	if err := w.sync(); err != nil {
		w.fail(err)
		for i := range answers {
			answers[i] = outcome{err: w.err()}
		}
	}
	for i, req := range group {
		req.done <- answers[i]
	}
	w.ledger.states.trim()
}

func (w *writer) plan(req *write) outcome {
	if err := w.err(); err != nil {
		return outcome{err: err}
	}
	if err := req.ctx.Err(); err != nil {
		return outcome{err: err}
	}
	return req.plan(w.ledger)
}

// sync makes the group durable and shows it to the readers.
func (w *writer) sync() error {
	l := w.ledger
	defer l.batch.Close()
	if err := w.err(); err != nil {
		return err
	}
	if len(l.events) == 0 {
		return nil
	}
	if err := l.seal(); err != nil {
		return err
	}
	if err := w.apply(l.batch); err != nil {
		return err
	}
	w.publish(l.events, l.counters)
	return nil
}

// apply commits the batch. Pebble reports some failures only to its logger,
// which calls fail; so that is asked as well.
func (w *writer) apply(batch *pebble.Batch) error {
	if w.noSync {
		if err := w.ledger.db.Apply(batch, pebble.NoSync); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		return w.err()
	}
	// Waiting apart from applying is what makes Pebble return a failed sync;
	// otherwise it ends the process.
	if err := w.ledger.db.ApplyNoSyncWait(batch, pebble.Sync); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := w.err(); err != nil {
		return err
	}
	if err := batch.SyncWait(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return w.err()
}
