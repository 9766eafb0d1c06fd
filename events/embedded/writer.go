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
	ctx  context.Context // of the call; a request that it has left is not written
	plan func(*ledger) outcome
	size int          // bytes of events
	done chan outcome // has room for the one answer
}

// writer commits what is waiting, group by group. One goroutine decides and
// applies, another one awaits the sync and answers, so that the next group is
// made while one syncs.
type writer struct {
	ledger  *ledger
	noSync  bool
	publish func([]*record, counters)

	queue   chan *write
	flights chan *flight  // from the first goroutine to the second
	quit    chan struct{} // closed to stop
	stopped chan struct{} // closed when both goroutines have returned
	failed  chan struct{} // closed after a failed commit
	failure atomic.Pointer[error]
}

// flight is a group that is applied but not yet known to be durable.
type flight struct {
	group    []*write
	answers  []outcome
	events   []*record
	counters counters
	batch    *pebble.Batch
	applied  bool
}

func newWriter(l *ledger, noSync bool, publish func([]*record, counters)) *writer {
	return &writer{
		ledger:  l,
		noSync:  noSync,
		publish: publish,
		queue:   make(chan *write, writeQueueLen),
		flights: make(chan *flight), // at most one group waits behind the one that syncs
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
	case w.queue <- req: // the usual case, tried alone because it is cheaper so
		return req, nil
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

func (w *writer) start() {
	go func() {
		defer close(w.flights)
		for {
			select {
			case first := <-w.queue:
				w.flights <- w.launch(w.gather(first))
			case <-w.quit:
				return
			}
		}
	}()
	go func() {
		defer close(w.stopped)
		for f := range w.flights {
			w.land(f)
		}
	}()
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

// launch decides the requests in order and applies what they write.
func (w *writer) launch(group []*write) *flight {
	f := &flight{group: group, answers: make([]outcome, len(group))}
	l := w.ledger
	l.begin()
	for i, req := range group {
		f.answers[i] = w.plan(req)
	}
	f.batch, f.events, f.counters = l.batch, l.events, l.counters
	if len(l.events) > 0 && w.err() == nil {
		if err := w.apply(l); err != nil {
			w.fail(err)
		} else {
			f.applied = true
		}
	}
	l.states.trim()
	return f
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

// apply gives the batch of the group to Pebble, without waiting for the sync.
func (w *writer) apply(l *ledger) error {
	if err := l.seal(); err != nil {
		return err
	}
	if w.noSync {
		return l.db.Apply(l.batch, pebble.NoSync)
	}
	// Waiting apart from applying also is what makes Pebble return a failed
	// sync; otherwise it ends the process.
	return l.db.ApplyNoSyncWait(l.batch, pebble.Sync)
}

// land waits until the group is durable, shows it to the readers and answers.
// Refusals are held back too: they may rest on a neighbour of the same group,
// or of the one before.
func (w *writer) land(f *flight) {
	if f.applied && !w.noSync {
		if err := f.batch.SyncWait(); err != nil {
			w.fail(fmt.Errorf("sync: %w", err))
		}
	}
	// Pebble reports some failures only to its logger, which calls fail.
	if err := w.err(); err != nil {
		for i := range f.answers {
			f.answers[i] = outcome{err: err}
		}
	} else if len(f.events) > 0 {
		w.publish(f.events, f.counters)
	}
	for i, req := range f.group {
		req.done <- f.answers[i]
	}
	// Closing only returns memory. The batch of a failed commit may be in use.
	if w.err() == nil {
		_ = f.batch.Close()
	}
}
