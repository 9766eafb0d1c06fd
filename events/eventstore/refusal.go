package eventstore

import (
	"context"
	"errors"
	"sync/atomic"

	"linkledger/events/eventstore/wire"
)

// refusalStream is the stream to which Refusal appends no events. It never exists.
const refusalStream = "refusal"

// refusal holds the error of the last append if the event store refused that append with
// ErrRefusesWrites, and otherwise nil.
type refusal struct{ last atomic.Pointer[error] }

// note records the outcome of an append. before is the refusal that was stored when the append
// began. If the append was accepted, note clears that refusal but no later one, because the answer
// to the append may have been read late.
func (r *refusal) note(before *error, err error) {
	switch {
	case errors.Is(err, ErrRefusesWrites):
		r.last.Store(&err)
	case err == nil && before != nil:
		r.last.CompareAndSwap(before, nil)
	}
}

// Refusal returns nil if the event store accepts writes: it has refused no append, or accepted a
// later one. Otherwise Refusal returns the reason as an ErrRefusesWrites. After a refusal, it asks
// the event store again with an append of no events, which writes nothing.
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

// Refuses reports whether the event store has refused the last append. It sends no request.
func (s *Store) Refuses() bool { return s.refusal.last.Load() != nil }
