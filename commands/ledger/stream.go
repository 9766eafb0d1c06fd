package ledger

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// errMisplaced means that the last event in the stream of a counter is not an event of the counter.
var errMisplaced = errors.New("the event does not belong in this stream")

// Stream is the stream of one counter. It keeps the last event in memory. It must be used from one
// goroutine at a time.
type Stream[E events.Event] struct {
	store *eventstore.Store
	name  string

	cached   bool // last and revision are the last ones that this node knows
	last     E
	revision eventstore.Revision
}

// NewStream returns the stream with that name, which may not exist yet.
func NewStream[E events.Event](store *eventstore.Store, name string) *Stream[E] {
	return &Stream[E]{store: store, name: name}
}

// Forget makes the next Last read the event store.
func (s *Stream[E]) Forget() { s.cached = false }

// Last returns the last event, or the zero value if there is none. If other nodes have appended
// later events since the event was read, an append after it fails.
func (s *Stream[E]) Last(ctx context.Context) (E, error) {
	if s.cached {
		return s.last, nil
	}
	var none E
	recorded, err := s.store.Last(ctx, s.name)
	if errors.Is(err, eventstore.ErrNotFound) {
		s.cached, s.last, s.revision = true, none, eventstore.NoStream
		return none, nil
	}
	if err != nil {
		return none, err
	}
	e, err := recorded.Event()
	if err != nil {
		return none, err
	}
	last, ok := e.(E)
	if !ok {
		return none, recorded.Undecoded(errMisplaced)
	}
	s.cached, s.last, s.revision = true, last, recorded.Revision
	return last, nil
}

// Next returns the write that appends an event after the event that Last has returned.
func (s *Stream[E]) Next(e E) eventstore.Write {
	return eventstore.Write{
		Stream: s.name, Expected: s.revision, Command: uuid.New(), Events: []events.Event{e},
	}
}

// Append appends a write that Next has returned. After an error, the next Last reads the event
// store. ErrWrongRevision means that nothing was written. After any other error, it is unknown
// whether the event was written.
func (s *Stream[E]) Append(ctx context.Context, w eventstore.Write) error {
	s.cached = false
	appended, err := s.store.Append(ctx, w)
	if err != nil {
		return err
	}
	s.last, _ = w.Events[0].(E)
	s.cached, s.revision = true, appended.Revision
	return nil
}
