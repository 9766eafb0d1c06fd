package eventstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"linkledger/events/eventstore/node"
)

const (
	// logBatchEvents and logBatchBytes bound one batch of ReadLog. logBatches is how many further
	// batches it buffers.
	logBatchEvents = 512
	logBatchBytes  = 1 << 20
	logBatches     = 2
)

// ReadLog is ReadWholeLog without the streams of the event store itself.
func (s *Store) ReadLog(
	ctx context.Context, behind, upTo Position, handle func([]Recorded) error,
) error {
	return s.readLog(
		ctx, behind, upTo, handle,
		func(r Recorded) bool { return !strings.HasPrefix(r.Stream, "$") },
	)
}

// ReadWholeLog calls handle with the events of all streams after a position, in batches and in the
// order of the log, up to and including the position upTo, for example that of Head. The zero
// position is the start of the log. During an outage it retries until the context ends, and it
// passes no event twice. It returns the error of handle, ErrPositionInvalid if one of the positions
// is not in the log, ErrDenied, or ErrUnavailable if the context ended.
func (s *Store) ReadWholeLog(
	ctx context.Context, behind, upTo Position, handle func([]Recorded) error,
) error {
	return s.readLog(ctx, behind, upTo, handle, func(Recorded) bool { return true })
}

func (s *Store) readLog(
	ctx context.Context, behind, upTo Position, handle func([]Recorded) error,
	wanted func(Recorded) bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.reads.Closed(), cancel)()
	var handling error
	_, err := node.Retry(ctx, s.cfg.Logger, s.answers, func(
		ctx context.Context,
	) (struct{}, error) {
		err := s.readLogOnce(ctx, behind, upTo, wanted, func(batch []Recorded) error {
			behind = batch[len(batch)-1].Position
			handling = handle(batch)
			return handling
		})
		if handling != nil {
			return struct{}{}, nil //nolint:nilerr // an error of handle MUST NOT be retried
		}
		return struct{}{}, err
	})
	if handling != nil {
		return handling
	}
	if err != nil {
		return fmt.Errorf("read the log after %s: %w", behind, err)
	}
	return nil
}

// readLogOnce reads over its own connection until something fails. It receives events while handle
// runs.
func (s *Store) readLogOnce(
	ctx context.Context, behind, upTo Position, wanted func(Recorded) bool,
	handle func([]Recorded) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan []Recorded, logBatches)
	ended := make(chan error, 1)
	go func() {
		defer close(batches)
		ended <- s.receiveLog(ctx, behind, upTo, wanted, batches)
	}()
	defer func() { // ends the receiving goroutine and waits for it
		cancel()
		for range batches { // discarded
		}
	}()
	stalled := time.NewTimer(s.cfg.AttemptTimeout)
	defer stalled.Stop()
	for {
		stalled.Reset(s.cfg.AttemptTimeout)
		select {
		case batch, ok := <-batches:
			if !ok {
				return <-ended
			}
			if len(batch) == 0 {
				continue
			}
			if err := handle(batch); err != nil {
				return err
			}
		case <-stalled.C:
			return fmt.Errorf("%w: no event within %s", ErrUnavailable, s.cfg.AttemptTimeout)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
	}
}

// receiveLog sends received events to batches. Batches are bounded in events, bytes and time.
func (s *Store) receiveLog(
	ctx context.Context, behind, upTo Position, wanted func(Recorded) bool,
	batches chan<- []Recorded,
) error {
	log, err := s.openLog(ctx, behind)
	if err != nil {
		return err
	}
	defer log.Close()
	pending := logBatch{begun: time.Now()}
	var at Position // of the last received event
	for {
		received, err := log.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(pending.send(ctx, batches), s.checkReadEnd(ctx, behind, upTo, at))
		}
		if err != nil && at == (Position{}) {
			return s.classifyPositionError(ctx, behind, err)
		}
		if err != nil {
			return err
		}
		if event := received.Event; received.IsEvent {
			at = event.Position
			if event.Position.After(upTo) {
				return pending.send(ctx, batches)
			}
			// The read includes the event at behind.
			if event.Position.After(behind) && wanted(event) {
				pending.add(event)
			}
		}
		if pending.due() {
			if err := pending.send(ctx, batches); err != nil {
				return err
			}
		}
	}
}

// logBatch collects events.
type logBatch struct {
	events []Recorded
	bytes  int
	begun  time.Time
}

func (b *logBatch) add(event Recorded) {
	b.events = append(b.events, event)
	b.bytes += len(event.Data) + len(event.Metadata)
}

// due reports whether the batch is to be sent now. After a second the batch is sent even if it is
// empty, so that the reader does not mistake a long search for an outage.
func (b *logBatch) due() bool {
	isFull := len(b.events) >= logBatchEvents || b.bytes >= logBatchBytes
	return isFull || time.Since(b.begun) > time.Second
}

// send sends the batch and starts a new one.
func (b *logBatch) send(ctx context.Context, batches chan<- []Recorded) error {
	select {
	case batches <- b.events:
		*b = logBatch{begun: time.Now(), events: make([]Recorded, 0, logBatchEvents)}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
