package proof

import (
	"hash/maphash"
	"math"

	"linkledger/events/eventstore"
)

// revisions remember the last revision of each stream in 12 bytes, by a hash of its name. The seed
// keeps anybody from choosing two names with the same hash; that two streams of ten million have
// one by chance is less likely than one in 100,000.
type revisions struct {
	seed   maphash.Seed
	shards [64]shard // each grows by itself, so that little is copied at a time
}

// shard is a hash table with open addressing.
type shard struct {
	keys  []uint64
	next  []uint32 // the revision behind the last one; 0: the place is free
	count int
}

func newRevisions() *revisions { return &revisions{seed: maphash.MakeSeed()} }

// set makes a revision the last one of a stream. It returns the one behind the last one so far, 0
// for a stream that was never met.
func (r *revisions) set(
	stream string, revision eventstore.Revision,
) (expected eventstore.Revision) {
	key := maphash.String(r.seed, stream)
	s := &r.shards[key>>58]
	if 4*s.count >= 3*len(s.keys) {
		s.grow()
	}
	at := s.find(key)
	before := s.next[at]
	if before == 0 {
		s.keys[at] = key
		s.count++
	}
	s.next[at] = uint32(min(max(revision, 0), math.MaxUint32-1)) + 1
	return eventstore.Revision(before)
}

// last returns the last revision of a stream; NoStream: it was never met.
func (r *revisions) last(stream string) eventstore.Revision {
	key := maphash.String(r.seed, stream)
	s := &r.shards[key>>58]
	if len(s.keys) == 0 {
		return eventstore.NoStream
	}
	return eventstore.Revision(s.next[s.find(key)]) - 1
}

// find returns the index of a key, or of the free place that it would take.
func (s *shard) find(key uint64) uint64 {
	mask := uint64(len(s.keys) - 1) //nolint:gosec // a length
	at := key & mask
	for s.next[at] != 0 && s.keys[at] != key {
		at = (at + 1) & mask
	}
	return at
}

func (s *shard) grow() {
	before := *s
	size := max(64, 2*len(before.keys))
	s.keys, s.next = make([]uint64, size), make([]uint32, size)
	for i, next := range before.next {
		if next != 0 {
			at := s.find(before.keys[i])
			s.keys[at], s.next[at] = before.keys[i], next
		}
	}
}
