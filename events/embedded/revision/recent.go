package revision

import (
	"hash/maphash"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
)

// recentKey identifies an event id in one stream. In EventStoreDB an id belongs to the first stream
// that uses it. Here the same id in different streams does not conflict. The stream is hashed, so
// that the many keys have no pointers for the garbage collector to follow. Two streams are confused
// only if they share an event id and the hash.
type recentKey struct {
	stream uint64
	id     uuid.UUID
}

// Entry is where an event was written.
type Entry struct {
	Number int64
	Pos    uint64
}

// RecentIDs stores by id where the last events were written, so that a repeated append with
// expected revision Any is recognized. It is bounded and drops the oldest ids first. It MUST be
// used by one goroutine at a time.
type RecentIDs struct {
	entries map[recentKey]Entry
	order   []recentKey // a ring buffer after it has reached limit
	next    int         // index in order of the oldest id, once order has reached limit
	limit   int
	seed    maphash.Seed
}

// NewRecentIDs returns a RecentIDs that holds up to limit ids.
func NewRecentIDs(limit int) *RecentIDs {
	return &RecentIDs{entries: make(map[recentKey]Entry), limit: limit, seed: maphash.MakeSeed()}
}

func (r *RecentIDs) key(stream string, id uuid.UUID) recentKey {
	return recentKey{maphash.String(r.seed, stream), id}
}

// Get returns where an id was first written in a stream, or false if the id is unknown.
func (r *RecentIDs) Get(stream string, id uuid.UUID) (Entry, bool) {
	e, ok := r.entries[r.key(stream, id)]
	return e, ok
}

// Add stores where an event was written. If its id is already stored for the stream, the first
// entry is kept.
func (r *RecentIDs) Add(rec *record.Event) {
	key := r.key(rec.Stream, rec.ID)
	if _, known := r.entries[key]; known {
		return
	}
	r.entries[key] = Entry{rec.Number, rec.Position}
	if len(r.order) < r.limit {
		r.order = append(r.order, key)
		return
	}
	delete(r.entries, r.order[r.next])
	r.order[r.next] = key
	r.next = (r.next + 1) % r.limit
}
