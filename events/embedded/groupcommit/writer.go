// Package groupcommit commits writes in groups. The writes that arrive while one group is synced
// become the next group.
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

// ErrClosed is returned if the store is closing or closed.
var ErrClosed = errors.New("event store is closed")

const (
	writeQueueLen = 1024
	groupRequests = 512
	groupBytes    = 4 << 20
)

// Write is one request to the writer. plan decides the request, on a goroutine of the writer.
type Write struct {
	// ctx is the context of the call. If it ends before the writer decides the request, the request
	// is dropped.
	ctx  context.Context //nolint:containedctx // it passes through the queue with its request
	plan func(*ledger.Ledger) ledger.Outcome
	size int                 // bytes of events
	done chan ledger.Outcome // buffered for the one outcome
}

// Writer commits the queued writes group by group. One goroutine decides and applies a group. A
// second one waits for the sync of the group and answers its requests. Meanwhile the first one
// prepares the next group.
type Writer struct {
	db      *disk.DB
	ledger  *ledger.Ledger
	noSync  bool
	publish func([]*record.Event, record.Counters)

	queue   chan *Write
	applied chan *inFlightGroup // groups on their way from the first goroutine to the second
	quit    chan struct{}       // closed to stop
	stopped chan struct{}       // closed when both goroutines have returned
}

// inFlightGroup is a decided group whose writes are not yet answered.
type inFlightGroup struct {
	writes   []*Write
	outcomes []ledger.Outcome
	group    ledger.Group
	applied  bool
}

// New returns a writer that calls publish with events as soon as they are durable. The writer
// accepts requests, but handles them only after Start.
func New(
	db *disk.DB, l *ledger.Ledger, noSync bool, publish func([]*record.Event, record.Counters),
) *Writer {
	return &Writer{
		db:      db,
		ledger:  l,
		noSync:  noSync,
		publish: publish,
		queue:   make(chan *Write, writeQueueLen),
		// unbuffered: at most one group waits while another one syncs
		applied: make(chan *inFlightGroup),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
}

// Enqueue adds a request to the queue. It blocks while the queue is full.
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
	case w.queue <- req: // tried first, because a select with one case is cheaper
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

// Wait returns the outcome of a request. If ctx ends first, it returns the error of ctx, and the
// request may still be written.
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
	default: // queued after the writer's last look at the queue
		return ledger.Outcome{Err: ErrClosed}
	}
}

// Submit enqueues a request and waits for its outcome.
func (w *Writer) Submit(
	ctx context.Context, size int, plan func(*ledger.Ledger) ledger.Outcome,
) ledger.Outcome {
	req, err := w.Enqueue(ctx, size, plan)
	if err != nil {
		return ledger.Outcome{Err: err}
	}
	return w.Wait(ctx, req)
}

// Start starts the goroutines of the writer.
func (w *Writer) Start() {
	go func() {
		defer close(w.applied)
		for {
			select {
			case first := <-w.queue:
				w.applied <- w.applyGroup(w.collect(first))
			case <-w.quit:
				return
			}
		}
	}()
	go func() {
		defer close(w.stopped)
		for f := range w.applied {
			w.finishGroup(f)
		}
	}()
}

// collect returns a group of first and the requests that are queued, up to the limits of a group.
// It does not wait for more, because the queue fills while the previous group syncs.
func (w *Writer) collect(first *Write) []*Write {
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

// applyGroup decides the requests in order and applies their batch without waiting for the sync.
func (w *Writer) applyGroup(writes []*Write) *inFlightGroup {
	f := &inFlightGroup{writes: writes, outcomes: make([]ledger.Outcome, len(writes))}
	w.ledger.BeginGroup()
	refused := w.Refusal()
	for i, req := range writes {
		f.outcomes[i] = w.plan(req, refused)
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

// Refusal returns the reason why no writes are accepted at present, or nil if writes are
// accepted.
func (w *Writer) Refusal() error {
	if err := w.db.Err(); err != nil {
		return err
	}
	return w.db.CheckSpace(context.Background())
}

func (w *Writer) plan(req *Write, refused error) ledger.Outcome {
	if refused != nil {
		return ledger.Outcome{Err: refused}
	}
	if err := req.ctx.Err(); err != nil {
		return ledger.Outcome{Err: err}
	}
	return req.plan(w.ledger)
}

// apply applies the batch of a group to Pebble without waiting for the sync.
func (w *Writer) apply(batch *pebble.Batch) error {
	if w.noSync {
		return w.db.Apply(batch, pebble.NoSync)
	}
	// Pebble returns the error of a failed sync only if the caller waits for the sync separately.
	// Otherwise Pebble ends the process.
	return w.db.ApplyNoSyncWait(batch, pebble.Sync)
}

// finishGroup waits until the group is durable, publishes its events and answers its requests. It
// delays refusals too, because a refusal may depend on a write of the same or the previous group
// that is not durable yet.
func (w *Writer) finishGroup(f *inFlightGroup) {
	if f.applied && !w.noSync {
		if err := f.group.Batch.SyncWait(); err != nil {
			w.db.Fail(fmt.Errorf("sync: %w", err))
		}
	}
	// The outcome depends on Err, because Pebble reports some failures only to its logger, which
	// calls disk.DB.Fail.
	if err := w.db.Err(); err != nil {
		for i := range f.outcomes {
			f.outcomes[i] = ledger.Outcome{Err: err}
		}
	} else if len(f.group.Events) > 0 {
		w.publish(f.group.Events, f.group.Counters)
	}
	for i, req := range f.writes {
		req.done <- f.outcomes[i]
	}
	// Close only releases memory. It is not called after a failed commit, because Pebble may still
	// use the batch.
	if w.db.Err() == nil {
		_ = f.group.Batch.Close()
	}
}

// Run commits one write atomically. It MUST be called before Start.
func (w *Writer) Run(plan func(*ledger.Ledger) ledger.Outcome) error {
	req := &Write{ctx: context.Background(), plan: plan, done: make(chan ledger.Outcome, 1)}
	w.finishGroup(w.applyGroup([]*Write{req}))
	out := <-req.done
	return out.Err
}

// Stop finishes the group in flight and refuses all later writes.
func (w *Writer) Stop() {
	close(w.quit)
	<-w.stopped
}
