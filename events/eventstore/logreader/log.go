package logreader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"linkledger/events/eventstore/eventlog"
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
func (l *Reader) ReadLog(
	ctx context.Context, behind, upTo eventlog.Position, handle func([]eventlog.Recorded) error,
) error {
	return l.readLog(
		ctx, behind, upTo, handle,
		func(r eventlog.Recorded) bool { return !strings.HasPrefix(r.Stream, "$") },
	)
}

// ReadWholeLog calls handle with the events of all streams after the position behind, up to and
// including the position upTo, for example the result of Head. It passes the events in batches and
// in the order of the log. The zero position is the start of the log. During an outage it retries
// until the context ends, and it passes no event twice. It returns the error of handle,
// ErrPositionInvalid if one of the positions is not in the log, ErrDenied, or ErrUnavailable if the
// context ended.
func (l *Reader) ReadWholeLog(
	ctx context.Context, behind, upTo eventlog.Position, handle func([]eventlog.Recorded) error,
) error {
	return l.readLog(ctx, behind, upTo, handle, func(eventlog.Recorded) bool { return true })
}

func (l *Reader) readLog(
	ctx context.Context, behind, upTo eventlog.Position, handle func([]eventlog.Recorded) error,
	wanted func(eventlog.Recorded) bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.cfg.Pages.Closed(), cancel)()
	var handling error
	_, err := node.Retry(ctx, l.cfg.Logger, l.cfg.Store, func(
		ctx context.Context,
	) (struct{}, error) {
		err := l.readLogOnce(ctx, behind, upTo, wanted, func(batch []eventlog.Recorded) error {
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

// readLogOnce reads over its own connection until the end or an error. It receives further events
// while handle runs.
func (l *Reader) readLogOnce(
	ctx context.Context, behind, upTo eventlog.Position, wanted func(eventlog.Recorded) bool,
	handle func([]eventlog.Recorded) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan []eventlog.Recorded, logBatches)
	ended := make(chan error, 1)
	go func() {
		defer close(batches)
		ended <- l.receiveLog(ctx, behind, upTo, wanted, batches)
	}()
	defer func() { // ends the receiving goroutine and waits for it
		cancel()
		for range batches { // discarded
		}
	}()
	stalled := time.NewTimer(l.cfg.AttemptTimeout)
	defer stalled.Stop()
	for {
		stalled.Reset(l.cfg.AttemptTimeout)
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
			return fmt.Errorf(
				"%w: no event within %s", eventlog.ErrUnavailable, l.cfg.AttemptTimeout,
			)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, ctx.Err())
		}
	}
}

// receiveLog sends received events to batches. Batches are bounded in events, bytes and time.
func (l *Reader) receiveLog(
	ctx context.Context, behind, upTo eventlog.Position, wanted func(eventlog.Recorded) bool,
	batches chan<- []eventlog.Recorded,
) error {
	log, err := l.openLog(ctx, behind)
	if err != nil {
		return err
	}
	defer log.Close()
	pending := logBatch{begun: time.Now()}
	var at eventlog.Position // of the last received event
	for {
		received, err := log.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(pending.send(ctx, batches), l.checkReadEnd(ctx, behind, upTo, at))
		}
		if err != nil && at == (eventlog.Position{}) {
			return l.classifyPositionError(ctx, behind, err)
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
	events []eventlog.Recorded
	bytes  int
	begun  time.Time
}

func (b *logBatch) add(event eventlog.Recorded) {
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
func (b *logBatch) send(ctx context.Context, batches chan<- []eventlog.Recorded) error {
	select {
	case batches <- b.events:
		*b = logBatch{begun: time.Now(), events: make([]eventlog.Recorded, 0, logBatchEvents)}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
