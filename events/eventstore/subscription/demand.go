package subscription

import (
	"sync/atomic"

	"linkledger/events/eventstore"
)

// Demand tells a Subscriber that somebody waits for events after all. It has one Subscriber, and is
// safe for concurrent use.
type Demand struct {
	position atomic.Uint64
	raised   chan struct{} // holds one token while the Subscriber has not noticed
}

// NewDemand returns a Demand for nothing.
func NewDemand() *Demand { return &Demand{raised: make(chan struct{}, 1)} }

// Raise demands what the log has up to a commit position.
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

func (d *Demand) includes(p eventstore.Position) bool { return p.Commit <= d.position.Load() }
