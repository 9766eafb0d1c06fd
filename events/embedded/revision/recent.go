package revision

import (
	"hash/maphash"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
)

// recentKey names one event id in one stream. Unlike the real server, which
// lets the first stream that uses an id keep it, ids of different streams do
// not disturb each other here. The stream is hashed so that the garbage
// collector finds no pointers in the many keys; two streams are only confused
// when they share an event id as well as the hash.
type recentKey struct {
	stream uint64
	id     uuid.UUID
}

// Entry is where an event was written.
type Entry struct {
	Number int64
	Pos    uint64
}

// RecentIDs remembers where the last events were written, by id, so that a
// repeated append with expected revision Any is recognised. It is bounded; the
// oldest ids are forgotten first. It belongs to the writer's goroutine.
type RecentIDs struct {
	entries map[recentKey]Entry
	order   []recentKey // a ring once it is full
	next    int
	limit   int
	seed    maphash.Seed
}

// NewRecentIDs returns a memory of so many ids.
func NewRecentIDs(limit int) *RecentIDs {
	return &RecentIDs{entries: make(map[recentKey]Entry), limit: limit, seed: maphash.MakeSeed()}
}

func (r *RecentIDs) key(stream string, id uuid.UUID) recentKey {
	return recentKey{maphash.String(r.seed, stream), id}
}

// Get returns where an id was first written in a stream; false: it is not known.
func (r *RecentIDs) Get(stream string, id uuid.UUID) (Entry, bool) {
	e, ok := r.entries[r.key(stream, id)]
	return e, ok
}

// Add remembers an event. The first use of an id in a stream wins.
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
