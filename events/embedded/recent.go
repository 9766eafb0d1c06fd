package embedded

import (
	"hash/maphash"

	"github.com/google/uuid"
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

type recentEntry struct {
	number int64
	pos    uint64
}

// recentIDs remembers where the last events were written, by id, so that a
// repeated append with expected revision Any is recognised. It is bounded; the
// oldest ids are forgotten first. It belongs to the writer's goroutine.
type recentIDs struct {
	entries map[recentKey]recentEntry
	order   []recentKey // a ring once it is full
	next    int
	limit   int
	seed    maphash.Seed
}

func newRecentIDs(limit int) *recentIDs {
	return &recentIDs{entries: make(map[recentKey]recentEntry), limit: limit, seed: maphash.MakeSeed()}
}

func (r *recentIDs) key(stream string, id uuid.UUID) recentKey {
	return recentKey{maphash.String(r.seed, stream), id}
}

func (r *recentIDs) get(stream string, id uuid.UUID) (recentEntry, bool) {
	e, ok := r.entries[r.key(stream, id)]
	return e, ok
}

// add remembers an event. The first use of an id in a stream wins.
func (r *recentIDs) add(rec *record) {
	key := r.key(rec.stream, rec.id)
	if _, known := r.entries[key]; known {
		return
	}
	r.entries[key] = recentEntry{rec.number, rec.pos}
	if len(r.order) < r.limit {
		r.order = append(r.order, key)
		return
	}
	delete(r.entries, r.order[r.next])
	r.order[r.next] = key
	r.next = (r.next + 1) % r.limit
}
