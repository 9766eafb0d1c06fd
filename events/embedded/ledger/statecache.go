package ledger

import "linkledger/events/embedded/record"

// stateCache holds the states that the writer used last. Only the writer's goroutine may use it.
// Two generations approximate a least-recently-used cache at the cost of two maps.
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

// trim starts a new generation if the young one is full, and drops the old one. It MUST only be
// called between groups, because a state that the current group has changed is not in the database
// yet. If trim dropped this state, the writer would load an older one from the database.
func (c *stateCache) trim() {
	if len(c.young) > c.limit {
		c.young, c.old = make(map[string]*record.StreamState, c.limit), c.young
	}
}
