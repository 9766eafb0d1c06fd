package status

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/readmodel"
)

// Status is how a generation of a projection is doing, as far as this process knows.
type Status struct {
	Projection string
	Generation int
	Serving    bool                // readers see this generation
	Owned      bool                // this process keeps it up to date; others stand by
	Paused     bool                // by an operator
	Stopped    bool                // before an event that can't be applied, which Err names
	Position   eventstore.Position // of its checkpoint
	Events     uint64              // applied by this process
	SetAside   uint64              // of them, as dead letters
	Skipped    uint64              // of them, because Linkledger did not write them
	LastEvent  time.Time           // when the last applied event was recorded; zero: none yet
	// Err is why the projection does not go on; nil while it does. An *EventError names the event
	// it stands before.
	Err      error
	FailedAt time.Time // of Err
}

// Progress is how far the rebuild or the verification of a projection is.
type Progress struct {
	Name       string
	Generation int
	Position   uint64  // in the log
	Head       uint64  // of the log
	Rate       float64 // events per second of late
	Done       bool    // a rebuild has taken over
}

// Registry collects the Status of the projections that Run runs. The zero value is ready; it is
// safe for concurrent use.
type Registry struct {
	mu    sync.Mutex
	lines map[generation.Key]*Status
}

// All returns the status of each generation, by name and generation.
func (b *Registry) All() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	statuses := make([]Status, 0, len(b.lines))
	for _, s := range b.lines {
		statuses = append(statuses, *s)
	}
	slices.SortFunc(statuses, func(a, b Status) int {
		return cmp.Or(
			strings.Compare(a.Projection, b.Projection), cmp.Compare(a.Generation, b.Generation),
		)
	})
	return statuses
}

// Entry returns the entry of a generation, and makes it if there is none.
func (b *Registry) Entry(of generation.Key) *Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines == nil {
		b.lines = make(map[generation.Key]*Status)
	}
	s, ok := b.lines[of]
	if !ok {
		s = &Status{Projection: of.Name, Generation: of.Generation}
		b.lines[of] = s
	}
	return &Entry{board: b, status: s}
}

// Keep forgets the generations that are no longer there.
func (b *Registry) Keep(known map[generation.Key]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.lines, func(of generation.Key, _ *Status) bool { return !known[of] })
}

// Entry is one generation's place on a board.
type Entry struct {
	board  *Registry
	status *Status

	refused     bool // a batch was, so the subscription ends for that reason
	interrupted bool // Err is about the subscription
}

// Observe notes what the database says of a generation that another process owns, or none.
func (l *Entry) Observe(row readmodel.Generation) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.status.Serving = row.Serving
	l.status.Position = generation.CheckpointOf(row).Position
	l.status.Paused, l.status.Stopped = row.Paused, row.Stopped
	switch {
	case row.Paused:
		l.status.Err = generation.ErrPaused
	case row.LastError != "":
		l.status.Err = errors.New(row.LastError)
	default:
		l.status.Err, l.status.FailedAt = nil, time.Time{}
	}
}

// Stop notes that the projection has stopped, or tries again.
func (l *Entry) Stop(stopped bool) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.status.Stopped = stopped
}

// Report returns what the database is to know, and how many events were applied so far.
func (l *Entry) Report() (generation.Report, uint64) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	r := generation.Report{Stopped: l.status.Stopped}
	if l.status.Err != nil {
		r.LastError = l.status.Err.Error()
	}
	return r, l.status.Events
}

// Serve notes whether readers see the generation.
func (l *Entry) Serve(serving bool) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.status.Serving = serving
}

// Own notes that this process owns the generation, or no longer. An owner tries the event that the
// one before stopped at, so it has not stopped itself.
func (l *Entry) Own(owned bool) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.status.Owned, l.status.Stopped = owned, false
}

// Reached notes the checkpoint that a subscription is taken up from.
func (l *Entry) Reached(position eventstore.Position) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.status.Position = position
	if l.interrupted {
		l.interrupted = false
		l.status.Err, l.status.FailedAt = nil, time.Time{}
	}
}

// Applied notes a commit of so many events up to a position; last is when the last of them was
// recorded.
func (l *Entry) Applied(to eventstore.Position, events int, last time.Time) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.interrupted = false
	l.status.Position = to
	l.status.Err, l.status.FailedAt = nil, time.Time{}
	l.status.Events += uint64(events) //nolint:gosec // never negative
	if events > 0 {
		l.status.LastEvent = last
	}
}

// SetAside counts events that were taken in without being applied.
func (l *Entry) SetAside(letters, skipped int) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.status.SetAside += uint64(letters) //nolint:gosec // never negative
	l.status.Skipped += uint64(skipped)  //nolint:gosec // never negative
}

// Refuse notes that a batch was not applied; a nil error means that another process was first.
func (l *Entry) Refuse(err error) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.refused = true
	if err != nil {
		l.interrupted = false
		l.status.Err, l.status.FailedAt = err, time.Now()
	}
}

// Interrupt notes why a subscription ended.
func (l *Entry) Interrupt(err error) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	if l.refused { // the reason was noted with the batch
		l.refused = false
		return
	}
	l.interrupted = true
	l.status.Err, l.status.FailedAt = err, time.Now()
}
