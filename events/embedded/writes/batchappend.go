package writes

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/wire"
)

const (
	maxOpenBatches    = 1024     // batches without their final frame, per call
	maxPendingBatches = 256      // batches that the writer has not answered, per call
	maxOpenBatchSize  = 64 << 20 // bytes of events in all open batches of a call
)

// batchAppend is one append on a BatchAppend call.
type batchAppend struct {
	request.Append

	id       *shared.UUID
	wireName *shared.StreamIdentifier
	ctx      context.Context //nolint:containedctx // ends at the deadline of the batch
	cancel   context.CancelFunc
}

// batchCall serves one BatchAppend call, on which the frames of many batches interleave.
type batchCall struct {
	*Service

	call streams.Streams_BatchAppendServer

	open    map[uuid.UUID]*batchAppend
	size    int                    // bytes of events in the open batches
	refused map[uuid.UUID]struct{} // batches refused before their final frame

	expired       chan uuid.UUID // open batches whose deadline has passed
	pending       chan pendingBatch
	answering     sync.WaitGroup
	finishPending func() // returns after all pending batches are answered

	mu  sync.Mutex // serializes Send
	err error      // of the first failed Send
}

// pendingBatch is a complete batch that was submitted to the writer.
type pendingBatch struct {
	*batchAppend
	write *groupcommit.Write
	err   error // why the writer did not accept the batch, or nil
}

// BatchAppend serves many appends on one call. Each append is answered exactly once and is atomic
// like a call of Append. The answers may come in a different order.
func (s *Service) BatchAppend(call streams.Streams_BatchAppendServer) error {
	b := &batchCall{
		Service: s,
		call:    call,
		open:    map[uuid.UUID]*batchAppend{},
		refused: map[uuid.UUID]struct{}{},
		expired: make(chan uuid.UUID, maxOpenBatches),
		pending: make(chan pendingBatch, maxPendingBatches),
	}
	b.answering.Go(b.answerPending)
	b.finishPending = sync.OnceFunc(func() {
		close(b.pending)
		b.answering.Wait()
	})
	err := b.run()
	for _, open := range b.open {
		open.cancel()
	}
	b.finishPending()
	if err == nil {
		err = b.err
	}
	if err != nil {
		return failure.Status(call.Context(), err)
	}
	return nil
}

// run handles frames until the client has sent its last frame and all its batches are answered.
func (b *batchCall) run() error {
	ctx, cancel := context.WithCancelCause(b.call.Context())
	defer cancel(nil)
	stop := context.AfterFunc(b.Closing, func() { cancel(groupcommit.ErrClosed) })
	defer stop()
	frames, done := b.receive(ctx)
	for {
		select {
		case req, ok := <-frames:
			if !ok {
				err := <-done
				b.refuseUnfinished()
				b.finishPending() // before this function cancels the context of the batches
				return err
			}
			if err := b.handleFrame(ctx, req); err != nil {
				return err
			}
		case id := <-b.expired:
			b.expire(id)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// receive reads frames in a goroutine of its own, so that deadlines are met while the client sends
// nothing. The goroutine ends with the call.
func (b *batchCall) receive(ctx context.Context) (<-chan *streams.BatchAppendReq, <-chan error) {
	frames, done := make(chan *streams.BatchAppendReq), make(chan error, 1)
	go func() {
		defer close(frames)
		for {
			req, err := b.call.Recv()
			if errors.Is(err, io.EOF) {
				err = nil
			} else if err == nil {
				select {
				case frames <- req:
					continue
				case <-ctx.Done():
					err = context.Cause(ctx)
				}
			}
			done <- err
			return
		}
	}()
	return frames, done
}

// handleFrame handles one frame. It answers the errors of a single batch. An error that it returns
// ends the call.
func (b *batchCall) handleFrame(ctx context.Context, req *streams.BatchAppendReq) error {
	id, err := request.ParseUUID(req.GetCorrelationId())
	if err != nil {
		opts := req.GetOptions()
		nameless := &batchAppend{id: req.GetCorrelationId(), wireName: opts.GetStreamIdentifier()}
		b.answer(
			nameless, ledger.Outcome{Err: dialect.Invalid("a batch has no usable correlation id")},
		)
		return nil //nolint:nilerr // it is answered; the other batches of the call continue
	}
	if _, ok := b.refused[id]; ok {
		if req.GetIsFinal() {
			delete(b.refused, id)
		}
		return nil
	}
	batch := b.open[id]
	if batch == nil {
		if len(b.open)+len(b.refused) >= maxOpenBatches {
			return status.Error(codes.ResourceExhausted, "too many unfinished batches on one call")
		}
		if batch, err = b.begin(ctx, req, id); err != nil {
			b.refuse(id, batch, req.GetIsFinal(), err)
			return nil
		}
	}
	before := batch.Size
	for _, m := range req.GetProposedMessages() {
		if err := batch.Add(m, b.MaxAppendSize); err != nil {
			b.size -= before
			b.refuse(id, batch, req.GetIsFinal(), err)
			return nil
		}
	}
	if b.size += batch.Size - before; b.size > maxOpenBatchSize {
		return status.Error(
			codes.ResourceExhausted, "too much data in unfinished batches on one call",
		)
	}
	if req.GetIsFinal() {
		delete(b.open, id)
		b.size -= batch.Size
		return b.submit(ctx, batch)
	}
	return nil
}

// begin opens a batch with its first frame. If begin returns an error, the returned batch has what
// is needed to answer the batch.
func (b *batchCall) begin(
	ctx context.Context, req *streams.BatchAppendReq, id uuid.UUID,
) (*batchAppend, error) {
	opts := req.GetOptions()
	batch := &batchAppend{
		id: req.GetCorrelationId(), wireName: opts.GetStreamIdentifier(), cancel: func() {},
	}
	if opts == nil {
		return batch, dialect.Invalid("a batch must begin with its options")
	}
	var err error
	if batch.Stream, err = request.WritableStream(opts.GetStreamIdentifier()); err != nil {
		return batch, err
	}
	if batch.Expected, err = request.BatchExpectation(opts); err != nil {
		return batch, err
	}
	timeout := request.BatchDeadline(opts, b.Now())
	if timeout <= 0 {
		return batch, context.DeadlineExceeded
	}
	b.open[id] = batch
	batch.ctx, batch.cancel = context.WithTimeout(ctx, timeout)
	if req.GetIsFinal() {
		return batch, nil // the only frame: the batch does not stay open
	}
	cancel := batch.cancel
	stop := context.AfterFunc(batch.ctx, func() {
		select {
		case b.expired <- id:
		case <-ctx.Done():
		}
	})
	batch.cancel = func() { stop(); cancel() }
	return batch, nil
}

// submit enqueues a complete batch at the writer, in the order of the final frames.
func (b *batchCall) submit(ctx context.Context, batch *batchAppend) error {
	req, err := b.Writer.Enqueue(batch.ctx, batch.Size, planOf(&batch.Append))
	select {
	case b.pending <- pendingBatch{batch, req, err}:
		return nil
	case <-ctx.Done():
		batch.cancel()
		return context.Cause(ctx)
	}
}

// answerPending answers the pending batches in the order in which they were submitted. One
// goroutine for all batches costs less than one for each.
func (b *batchCall) answerPending() {
	for h := range b.pending {
		out := ledger.Outcome{Err: h.err}
		if h.err == nil {
			out = b.Writer.Wait(h.ctx, h.write)
		}
		h.cancel()
		b.answer(h.batchAppend, out)
	}
}

// refuse answers a batch with an error. If its final frame has not arrived, its later frames are
// ignored.
func (b *batchCall) refuse(id uuid.UUID, batch *batchAppend, final bool, err error) {
	delete(b.open, id)
	if !final {
		b.refused[id] = struct{}{}
	}
	batch.cancel()
	b.answer(batch, ledger.Outcome{Err: err})
}

// expire answers an open batch whose deadline has passed.
func (b *batchCall) expire(id uuid.UUID) {
	batch, ok := b.open[id]
	if !ok || batch.ctx.Err() == nil {
		return // submitted in time, or a later batch with the same id
	}
	b.size -= batch.Size
	b.refuse(id, batch, false, context.DeadlineExceeded)
}

// refuseUnfinished answers the batches whose final frame never came.
func (b *batchCall) refuseUnfinished() {
	for id, batch := range b.open {
		b.size -= batch.Size
		b.refuse(id, batch, true, dialect.Invalid("the call ended before the final frame"))
	}
}

func (b *batchCall) answer(batch *batchAppend, out ledger.Outcome) {
	resp := wire.BatchResponse(batch.id, batch.wireName, batch.Expected, out, b.MaxAppendSize)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = b.call.Send(resp)
	}
}
