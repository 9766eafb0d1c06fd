package ledger

import "linkledger/events/embedded/record"

// stateCache keeps the states that the writer used last. It belongs to the
// writer's goroutine. Two generations approximate least-recently-used at the
// cost of two maps.
type stateCache struct {
	young, old map[string]*record.StreamState
	limit      int
}

func newStateCache(limit int) *stateCache {
	return &stateCache{
		young: map[string]*record.StreamState{}, old: map[string]*record.StreamState{},
		limit: limit,
	}
}

func (c *stateCache) get(stream string) (*record.StreamState, bool) {
	if st, ok := c.young[stream]; ok {
		return st, true
	}
	st, ok := c.old[stream]
	if ok {
		c.young[stream] = st
	}
	return st, ok
}

func (c *stateCache) add(stream string, st *record.StreamState) { c.young[stream] = st }

// trim forgets the states that were not used lately. It must only be called
// between groups: a state changed by the group at hand is not in the database
// yet and would be read back stale.
func (c *stateCache) trim() {
	if len(c.young) > c.limit {
		c.young, c.old = make(map[string]*record.StreamState, c.limit), c.young
	}
}
