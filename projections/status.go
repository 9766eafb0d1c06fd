package projections

import (
	"slices"
	"strings"
	"sync"
	"time"

	"linkledger/events/eventstore"
)

// Status is how one projection of this process is doing.
type Status struct {
	Projection string
	Position   eventstore.Position // last read or committed by this process
	Events     uint64              // applied by this process
	LastEvent  time.Time           // when the last applied event was recorded; zero: none yet
	// Err is why the projection does not go on; nil while it does. An *EventError names the event it stands before.
	Err      error
	FailedAt time.Time // of Err
}

// Board collects the Status of the projections that Run runs. The zero value is ready; it is safe for concurrent use.
type Board struct {
	mu    sync.Mutex
	lines map[string]*Status
}

// All returns the status of each projection, by name.
func (b *Board) All() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	statuses := make([]Status, 0, len(b.lines))
	for _, s := range b.lines {
		statuses = append(statuses, *s)
	}
	slices.SortFunc(statuses, func(a, b Status) int { return strings.Compare(a.Projection, b.Projection) })
	return statuses
}

func (b *Board) line(projection string) *statusLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines == nil {
		b.lines = make(map[string]*Status)
	}
	s := &Status{Projection: projection}
	b.lines[projection] = s
	return &statusLine{board: b, status: s}
}

// statusLine is one projection's place on a board.
type statusLine struct {
	board  *Board
	status *Status

	refused     bool // a batch was, so the subscription ends for that reason
	interrupted bool // Err is about the subscription
}

// reached notes the checkpoint that a subscription is taken up from.
func (l *statusLine) reached(position eventstore.Position) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.status.Position = position
	if l.interrupted {
		l.interrupted = false
		l.status.Err, l.status.FailedAt = nil, time.Time{}
	}
}

func (l *statusLine) applied(position eventstore.Position, recorded []eventstore.Recorded) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.interrupted = false
	l.status.Position = position
	l.status.Err, l.status.FailedAt = nil, time.Time{}
	l.status.Events += uint64(len(recorded))
	if len(recorded) > 0 {
		l.status.LastEvent = recorded[len(recorded)-1].Time
	}
}

// refuse notes that a batch was not applied; a nil error means that another process was first.
func (l *statusLine) refuse(err error) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.refused = true
	if err != nil {
		l.interrupted = false
		l.status.Err, l.status.FailedAt = err, time.Now()
	}
}

// interrupt notes why a subscription ended.
func (l *statusLine) interrupt(err error) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	if l.refused { // the reason was noted with the batch
		l.refused = false
		return
	}
	l.interrupted = true
	l.status.Err, l.status.FailedAt = err, time.Now()
}
