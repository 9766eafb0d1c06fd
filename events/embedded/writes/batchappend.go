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
	maxOpenBatches   = 1024     // begun but not final, per call
	maxBatchAnswers  = 256      // handed to the writer but not answered, per call
	maxOpenBatchSize = 64 << 20 // bytes of events in all open batches of a call
)

// batch is one append on a BatchAppend call while its frames arrive.
type batch struct {
	request.Append

	id       *shared.UUID
	wireName *shared.StreamIdentifier
	ctx      context.Context
	cancel   context.CancelFunc
}

// batchCall serves one BatchAppend call, on which many batches interleave.
type batchCall struct {
	*Service

	call streams.Streams_BatchAppendServer

	open    map[uuid.UUID]*batch
	size    int
	refused map[uuid.UUID]struct{} // answered early; the rest of their frames is ignored

	expired   chan uuid.UUID // open batches that ran out of time
	handed    chan handed
	answering sync.WaitGroup
	settle    func() // waits until what was handed to the writer is answered

	mu  sync.Mutex // serialises Send
	err error      // of the first Send that failed
}

// handed is a complete batch with what the writer has of it.
type handed struct {
	*batch
	req *groupcommit.Write
	err error // the writer has not taken it
}

// BatchAppend serves many appends on one call. Each is answered exactly once,
// not necessarily in order, and is atomic like an Append of its own.
func (s *Service) BatchAppend(call streams.Streams_BatchAppendServer) error {
	b := &batchCall{
		Service: s,
		call:    call,
		open:    map[uuid.UUID]*batch{},
		refused: map[uuid.UUID]struct{}{},
		expired: make(chan uuid.UUID, maxOpenBatches),
		handed:  make(chan handed, maxBatchAnswers),
	}
	b.answering.Go(b.answerAll)
	b.settle = sync.OnceFunc(func() {
		close(b.handed)
		b.answering.Wait()
	})
	err := b.run()
	for _, open := range b.open {
		open.cancel()
	}
	b.settle()
	if err == nil {
		err = b.err
	}
	if err != nil {
		return failure.Status(call.Context(), err)
	}
	return nil
}

// run handles frames until the client has sent its last and every batch that
// it began has been answered.
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
				b.abandon()
				b.settle() // the context of the batches ends with this function
				return err
			}
			if err := b.frame(ctx, req); err != nil {
				return err
			}
		case id := <-b.expired:
			b.expire(id)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// receive reads frames apart from handling them, so that deadlines are met
// while the client is silent. The goroutine ends with the call.
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

// frame handles one frame. An error ends the call; what is wrong with a batch
// is answered instead.
func (b *batchCall) frame(ctx context.Context, req *streams.BatchAppendReq) error {
	id, err := request.ParseUUID(req.GetCorrelationId())
	if err != nil {
		opts := req.GetOptions()
		nameless := &batch{id: req.GetCorrelationId(), wireName: opts.GetStreamIdentifier()}
		b.answer(
			nameless, ledger.Outcome{Err: dialect.Invalid("a batch has no usable correlation id")},
		)
		return nil // the others of the call have one
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
		return b.hand(ctx, batch)
	}
	return nil
}

// begin opens the batch of a first frame. With an error it returns as much of
// the batch as is needed to answer it.
func (b *batchCall) begin(
	ctx context.Context, req *streams.BatchAppendReq, id uuid.UUID,
) (*batch, error) {
	opts := req.GetOptions()
	batch := &batch{
		id: req.GetCorrelationId(), wireName: opts.GetStreamIdentifier(), cancel: func() {},
	}
	if opts == nil {
		return batch, dialect.Invalid("a batch begins with its options")
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
		return batch, nil // it will not be open when it runs out of time
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

// hand gives a complete batch to the writer, in the order of the final frames.
func (b *batchCall) hand(ctx context.Context, batch *batch) error {
	req, err := b.Writer.Enqueue(batch.ctx, batch.Size, planOf(&batch.Append))
	select {
	case b.handed <- handed{batch, req, err}:
		return nil
	case <-ctx.Done():
		batch.cancel()
		return context.Cause(ctx)
	}
}

// answerAll answers what the writer has, in the order in which it has it: one
// goroutine for all costs less than one each.
func (b *batchCall) answerAll() {
	for h := range b.handed {
		out := ledger.Outcome{Err: h.err}
		if h.err == nil {
			out = b.Writer.Wait(h.ctx, h.req)
		}
		h.cancel()
		b.answer(h.batch, out)
	}
}

// refuse answers a batch early. Unless this was its last frame, those to come
// are ignored.
func (b *batchCall) refuse(id uuid.UUID, batch *batch, final bool, err error) {
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
		return // handed over in time, or a later batch under the same id
	}
	b.size -= batch.Size
	b.refuse(id, batch, false, context.DeadlineExceeded)
}

// abandon answers what the client began and never finished.
func (b *batchCall) abandon() {
	for id, batch := range b.open {
		b.size -= batch.Size
		b.refuse(id, batch, true, dialect.Invalid("the call ended before the final frame"))
	}
}

func (b *batchCall) answer(batch *batch, out ledger.Outcome) {
	resp := wire.BatchResponse(batch.id, batch.wireName, batch.Expected, out, b.MaxAppendSize)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = b.call.Send(resp)
	}
}
