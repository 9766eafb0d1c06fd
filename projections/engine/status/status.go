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

// Status is the state of a generation of a projection in this process.
type Status struct {
	Projection string
	Generation int
	Serving    bool                // readers see this generation
	Owned      bool                // this process keeps it up to date; others stand by
	Paused     bool                // by an operator
	Stopped    bool                // it waits before it tries a failed batch again, see Err
	Position   eventstore.Position // of its checkpoint
	Events     uint64              // applied by this process
	SetAside   uint64              // events that this process has set aside as dead letters
	Parked     int                 // streams that have dead letters
	Skipped    uint64              // events that Linkledger did not write
	// Err is why the projection does not make progress; nil if it does. An *EventError names the
	// event before which the projection has stopped.
	Err      error
	FailedAt time.Time // of Err
}

// Progress is the progress of a rebuild or a verification of a projection.
type Progress struct {
	Name       string
	Generation int
	Position   uint64  // commit position up to which the log is applied
	Head       uint64  // commit position of the last event of the log
	Rate       float64 // events per second, recently
	Done       bool    // the new generation serves, or the verification has ended
}

// Registry collects the Status of the projections that the engine runs. The zero value is ready to
// use. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex
	entries map[generation.Key]*Status
}

// All returns the status of each generation, ordered by name and generation.
func (r *Registry) All() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	statuses := make([]Status, 0, len(r.entries))
	for _, s := range r.entries {
		statuses = append(statuses, *s)
	}
	slices.SortFunc(statuses, func(a, b Status) int {
		return cmp.Or(
			strings.Compare(a.Projection, b.Projection), cmp.Compare(a.Generation, b.Generation),
		)
	})
	return statuses
}

// Entry returns the entry of a generation, and creates it if it does not exist.
func (r *Registry) Entry(of generation.Key) *Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = make(map[generation.Key]*Status)
	}
	s, ok := r.entries[of]
	if !ok {
		s = &Status{Projection: of.Name, Generation: of.Generation}
		r.entries[of] = s
	}
	return &Entry{registry: r, status: s}
}

// Keep removes the entries of all generations that are not in known.
func (r *Registry) Keep(known map[generation.Key]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.entries, func(of generation.Key, _ *Status) bool { return !known[of] })
}

// Entry updates the status of one generation in a registry.
type Entry struct {
	registry *Registry
	status   *Status

	refused     bool // a batch was refused, and the subscription ends for that reason
	interrupted bool // Err is about the subscription, or comes from another owner
}

// Observe stores the state from the database of a generation that this process does not own.
func (e *Entry) Observe(row readmodel.Generation) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.status.Serving = row.Serving
	e.status.Position = generation.CheckpointOf(row).Position
	e.status.Paused, e.status.Stopped = row.Paused, row.Stopped
	e.interrupted = true // SetPosition resets Err when this process owns the generation
	switch {
	case row.Paused:
		e.status.Err = generation.ErrPaused
	case row.LastError != "":
		e.status.Err = errors.New(row.LastError)
	default:
		e.status.Err, e.status.FailedAt = nil, time.Time{}
	}
}

// SetStopped stores whether the projection has stopped.
func (e *Entry) SetStopped(stopped bool) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.status.Stopped = stopped
}

// Report returns the report for the database, and how many events were applied so far. The caller
// sets the Rate of the report.
func (e *Entry) Report() (generation.Report, uint64) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	r := generation.Report{Stopped: e.status.Stopped}
	if e.status.Err != nil {
		r.LastError = e.status.Err.Error()
	}
	return r, e.status.Events
}

// SetServing stores whether readers see the generation.
func (e *Entry) SetServing(serving bool) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.status.Serving = serving
}

// SetOwned stores whether this process owns the generation. It resets Stopped, because a new owner
// tries the event at which the former owner stopped.
func (e *Entry) SetOwned(owned bool) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.status.Owned, e.status.Stopped = owned, false
	if !owned {
		e.status.Parked = 0
	}
}

// SetPosition stores the checkpoint from which a subscription starts.
func (e *Entry) SetPosition(position eventstore.Position) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.status.Position = position
	if e.interrupted {
		e.interrupted = false
		e.status.Err, e.status.FailedAt = nil, time.Time{}
	}
}

// Applied stores a commit of some events up to a position.
func (e *Entry) Applied(to eventstore.Position, events int) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.interrupted = false
	e.status.Position = to
	e.status.Err, e.status.FailedAt = nil, time.Time{}
	e.status.Events += uint64(events) //nolint:gosec // never negative
}

// SetAside counts events that were not applied. letters is how many became dead letters, and
// skipped is how many Linkledger did not write.
func (e *Entry) SetAside(letters, skipped int) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.status.SetAside += uint64(letters) //nolint:gosec // never negative
	e.status.Skipped += uint64(skipped)  //nolint:gosec // never negative
}

// SetParked stores how many streams have dead letters.
func (e *Entry) SetParked(streams int) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.status.Parked = streams
}

// Refuse stores that a batch was not applied. A nil error means that the checkpoint was not where
// this process expected it, or that another process owns the generation.
func (e *Entry) Refuse(err error) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	e.refused = true
	if err != nil {
		e.interrupted = false
		e.status.Err, e.status.FailedAt = err, time.Now()
	}
}

// Interrupt stores why a subscription ended.
func (e *Entry) Interrupt(err error) {
	e.registry.mu.Lock()
	defer e.registry.mu.Unlock()
	if e.refused { // Refuse has stored the reason
		e.refused = false
		return
	}
	e.interrupted = true
	e.status.Err, e.status.FailedAt = err, time.Now()
}
