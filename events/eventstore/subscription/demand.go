package subscription

import (
	"sync/atomic"

	"linkledger/events/eventstore"
)

// Demand makes a Subscriber deliver delayed events early because a caller waits for them. It
// belongs to one Subscriber and is safe for concurrent use.
type Demand struct {
	position atomic.Uint64
	raised   chan struct{} // holds one token until the Subscriber has received it
}

// NewDemand returns a Demand for no events.
func NewDemand() *Demand { return &Demand{raised: make(chan struct{}, 1)} }

// Raise demands all events up to a commit position.
func (d *Demand) Raise(position uint64) {
	for {
		before := d.position.Load()
		if position <= before {
			return
		}
		if d.position.CompareAndSwap(before, position) {
			break
		}
	}
	select {
	case d.raised <- struct{}{}:
	default:
	}
}

// includes reports whether the event at a position is demanded.
func (d *Demand) includes(p eventstore.Position) bool { return p.Commit <= d.position.Load() }
