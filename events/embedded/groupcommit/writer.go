// Package groupcommit commits writes in groups: everything that waits while one
// group is synced becomes the next group.
package groupcommit

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
)

// ErrClosed is returned by a store that is closing or closed.
var ErrClosed = errors.New("event store is closed")

const (
	writeQueueLen = 1024
	groupRequests = 512
	groupBytes    = 4 << 20
)

// Write is one request to the writer. plan runs on the writer's goroutine.
type Write struct {
	ctx  context.Context // of the call; a request that it has left is not written
	plan func(*ledger.Ledger) ledger.Outcome
	size int                 // bytes of events
	done chan ledger.Outcome // has room for the one answer
}

// Writer commits what is waiting, group by group. One goroutine decides and
// applies, another one awaits the sync and answers, so that the next group is
// made while one syncs.
type Writer struct {
	db      *disk.DB
	ledger  *ledger.Ledger
	noSync  bool
	publish func([]*record.Event, record.Counters)

	queue   chan *Write
	flights chan *flight  // from the first goroutine to the second
	quit    chan struct{} // closed to stop
	stopped chan struct{} // closed when both goroutines have returned
}

// flight is a group that is applied but not yet known to be durable.
type flight struct {
	writes  []*Write
	answers []ledger.Outcome
	group   ledger.Group
	applied bool
}

// New returns a writer that calls publish with events as soon as they are
// durable. It waits for start.
func New(
	db *disk.DB, l *ledger.Ledger, noSync bool, publish func([]*record.Event, record.Counters),
) *Writer {
	return &Writer{
		db:      db,
		ledger:  l,
		noSync:  noSync,
		publish: publish,
		queue:   make(chan *Write, writeQueueLen),
		flights: make(chan *flight), // at most one group waits behind the one that syncs
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
}

// Enqueue hands a request over; it waits while the queue is full.
func (w *Writer) Enqueue(
	ctx context.Context, size int, plan func(*ledger.Ledger) ledger.Outcome,
) (*Write, error) {
	req := &Write{ctx: ctx, plan: plan, size: size, done: make(chan ledger.Outcome, 1)}
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

// Wait returns the answer to a request. A request whose caller gives up may be
// written all the same.
func (w *Writer) Wait(ctx context.Context, req *Write) ledger.Outcome {
	select {
	case out := <-req.done:
		return out
	case <-ctx.Done():
		return ledger.Outcome{Err: ctx.Err()}
	case <-w.stopped:
	}
	select {
	case out := <-req.done:
		return out
	default: // queued after the writer had looked for the last time
		return ledger.Outcome{Err: ErrClosed}
	}
}

// Submit hands a request over and waits for its answer.
func (w *Writer) Submit(
	ctx context.Context, size int, plan func(*ledger.Ledger) ledger.Outcome,
) ledger.Outcome {
	req, err := w.Enqueue(ctx, size, plan)
	if err != nil {
		return ledger.Outcome{Err: err}
	}
	return w.Wait(ctx, req)
}

// Start begins to take requests.
func (w *Writer) Start() {
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
func (w *Writer) gather(first *Write) []*Write {
	group := []*Write{first}
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
func (w *Writer) launch(writes []*Write) *flight {
	f := &flight{writes: writes, answers: make([]ledger.Outcome, len(writes))}
	w.ledger.BeginGroup()
	for i, req := range writes {
		f.answers[i] = w.plan(req)
	}
	var err error
	if f.group, err = w.ledger.EndGroup(); err != nil {
		w.db.Fail(err)
	}
	if len(f.group.Events) > 0 && w.db.Err() == nil {
		if err := w.apply(f.group.Batch); err != nil {
			w.db.Fail(err)
		} else {
			f.applied = true
		}
	}
	return f
}

func (w *Writer) plan(req *Write) ledger.Outcome {
	if err := w.db.Err(); err != nil {
		return ledger.Outcome{Err: err}
	}
	if err := req.ctx.Err(); err != nil {
		return ledger.Outcome{Err: err}
	}
	return req.plan(w.ledger)
}

// apply gives the batch of a group to Pebble, without waiting for the sync.
func (w *Writer) apply(batch *pebble.Batch) error {
	if w.noSync {
		return w.db.Apply(batch, pebble.NoSync)
	}
	// Waiting apart from applying also is what makes Pebble return a failed
	// sync; otherwise it ends the process.
	return w.db.ApplyNoSyncWait(batch, pebble.Sync)
}

// land waits until the group is durable, shows it to the readers and answers.
// Refusals are held back too: they may rest on a neighbour of the same group,
// or of the one before.
func (w *Writer) land(f *flight) {
	if f.applied && !w.noSync {
		if err := f.group.Batch.SyncWait(); err != nil {
			w.db.Fail(fmt.Errorf("sync: %w", err))
		}
	}
	// Pebble reports some failures only to its logger, which calls fail.
	if err := w.db.Err(); err != nil {
		for i := range f.answers {
			f.answers[i] = ledger.Outcome{Err: err}
		}
	} else if len(f.group.Events) > 0 {
		w.publish(f.group.Events, f.group.Counters)
	}
	for i, req := range f.writes {
		req.done <- f.answers[i]
	}
	// Closing only returns memory. The batch of a failed commit may be in use.
	if w.db.Err() == nil {
		_ = f.group.Batch.Close()
	}
}

// Run commits one write, all of it or nothing. It must be called before start.
func (w *Writer) Run(plan func(*ledger.Ledger) ledger.Outcome) error {
	req := &Write{ctx: context.Background(), plan: plan, done: make(chan ledger.Outcome, 1)}
	w.land(w.launch([]*Write{req}))
	out := <-req.done
	return out.Err
}

// Stop finishes the group in flight and refuses all writes after it.
func (w *Writer) Stop() {
	close(w.quit)
	<-w.stopped
}
