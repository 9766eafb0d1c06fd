package eventstore

import (
	"context"
	"errors"
	"sync/atomic"

	"linkledger/events/eventstore/wire"
)

// refusalStream is the stream to which Refusal appends no events. It never exists.
const refusalStream = "refusal"

// refusal is why the event store has refused the last append with ErrRefusesWrites.
type refusal struct{ last atomic.Pointer[error] }

// note notes the outcome of an append that began while before was the last refusal. An accepted
// append that began before a refusal does not end it: its answer may be read late.
func (r *refusal) note(before *error, err error) {
	switch {
	case errors.Is(err, ErrRefusesWrites):
		r.last.Store(&err)
	case err == nil && before != nil:
		r.last.CompareAndSwap(before, nil)
	}
}

// Refusal returns why the event store accepts no writes, as an ErrRefusesWrites. It returns nil if
// the last append was accepted, or if none has been refused. After a refusal it asks the event
// store with an append of no events, which writes nothing.
func (s *Store) Refusal(ctx context.Context) error {
	before := s.refusal.last.Load()
	if before == nil {
		return nil
	}
	_, err := s.appender.Append(ctx, wire.NewBatchAppend(refusalStream, NoStream, nil))
	s.refusal.note(before, err)
	if last := s.refusal.last.Load(); last != nil {
		return *last
	}
	return nil
}

// Refuses reports whether the event store has refused the last append. It asks nothing.
func (s *Store) Refuses() bool { return s.refusal.last.Load() != nil }
