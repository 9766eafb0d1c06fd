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
	// logBatchEvents and logBatchBytes bound what ReadLog hands on at a time, and with logBatches
	// what it holds.
	logBatchEvents = 512
	logBatchBytes  = 1 << 20
	logBatches     = 2
)

// ReadLog hands the events of all streams but those of the event store itself to handle, as
// ReadWholeLog does.
func (s *Store) ReadLog(
	ctx context.Context, behind, upTo Position, handle func([]Recorded) error,
) error {
	return s.readLog(
		ctx, behind, upTo, handle,
		func(r Recorded) bool { return !strings.HasPrefix(r.Stream, "$") },
	)
}

// ReadWholeLog hands the events of all streams behind a position to handle, in batches and in the
// order of the log, up to and including a position: that of Head, for instance. The zero position
// is the start of the log. An outage is waited out until the context ends, and no event is handed
// on twice. Errors: those of handle, ErrPositionInvalid where one of the positions is not in the
// log, ErrDenied, and ErrUnavailable when the context ended.
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
	_, err := node.Retry(ctx, s.cfg.Logger, func() (struct{}, error) {
		err := s.readLogOnce(ctx, behind, upTo, wanted, func(batch []Recorded) error {
			behind = batch[len(batch)-1].Position
			handling = handle(batch)
			return handling
		})
		if handling != nil {
			return struct{}{}, nil
		}
		return struct{}{}, err
	})
	if handling != nil {
		return handling
	}
	if err != nil {
		return fmt.Errorf("read the log behind %s: %w", behind, err)
	}
	return nil
}

// readLogOnce reads over a connection of its own until something fails. It receives while handle
// works.
func (s *Store) readLogOnce(
	ctx context.Context, behind, upTo Position, wanted func(Recorded) bool,
	handle func([]Recorded) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan []Recorded, logBatches)
	received := make(chan error, 1)
	go func() {
		defer close(batches)
		received <- s.receiveLog(ctx, behind, upTo, wanted, batches)
	}()
	defer func() { // ends what is still under way, and waits for it
		cancel()
		for range batches { // nobody wants these
		}
	}()
	stalled := time.NewTimer(s.cfg.AttemptTimeout)
	defer stalled.Stop()
	for {
		stalled.Reset(s.cfg.AttemptTimeout)
		select {
		case batch, ok := <-batches:
			if !ok {
				return <-received
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

// receiveLog sends what the event store sends, in batches that are bounded in events, bytes and
// time.
func (s *Store) receiveLog(
	ctx context.Context, behind, upTo Position, wanted func(Recorded) bool,
	batches chan<- []Recorded,
) error {
	reading, err := s.openLog(ctx, behind)
	if err != nil {
		return err
	}
	defer reading.Close()
	gathered := logBatch{begun: time.Now()}
	var at Position // of the last event
	for {
		received, err := reading.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(gathered.send(ctx, batches), s.endedEarly(ctx, behind, upTo, at))
		}
		if err != nil && at == (Position{}) {
			return s.positionFault(ctx, behind, err)
		}
		if err != nil {
			return err
		}
		if event := received.Event; received.IsEvent {
			at = event.Position
			if event.Position.After(upTo) {
				return gathered.send(ctx, batches)
			}
			if event.Position.After(behind) && wanted(event) { // the position itself is read too
				gathered.add(event)
			}
		}
		if gathered.due() {
			if err := gathered.send(ctx, batches); err != nil {
				return err
			}
		}
	}
}

// logBatch gathers events.
type logBatch struct {
	events []Recorded
	bytes  int
	begun  time.Time
}

func (b *logBatch) add(event Recorded) {
	b.events = append(b.events, event)
	b.bytes += len(event.Data) + len(event.Metadata)
}

// due tells whether the batch is to be sent now. A slow one is sent even without events, lest it
// look like an outage.
func (b *logBatch) due() bool {
	return len(b.events) >= logBatchEvents || b.bytes >= logBatchBytes || time.Since(
		b.begun,
	) > time.Second
}

// send sends what was gathered and begins anew.
func (b *logBatch) send(ctx context.Context, batches chan<- []Recorded) error {
	select {
	case batches <- b.events:
		*b = logBatch{begun: time.Now(), events: make([]Recorded, 0, logBatchEvents)}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
