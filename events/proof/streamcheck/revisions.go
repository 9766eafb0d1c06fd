package streamcheck

import (
	"hash/maphash"
	"math"

	"linkledger/events/eventstore"
)

// revisions stores the last revision of each stream in 12 bytes, keyed by a hash of the name of the
// stream. The random seed prevents an attacker from choosing two names with the same hash. The
// chance that two of ten million streams collide is below one in 100,000.
type revisions struct {
	seed   maphash.Seed
	shards [64]shard // shards grow separately, so that each copy is small
}

// shard is a hash table with open addressing.
type shard struct {
	keys  []uint64
	next  []uint32 // the next revision; 0: the slot is free
	count int
}

func newRevisions() *revisions { return &revisions{seed: maphash.MakeSeed()} }

// set stores the last revision of a stream. It returns the revision that was expected next: 0 for a
// new stream.
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

// last returns the last revision of a stream, or NoStream if it is unknown.
func (r *revisions) last(stream string) eventstore.Revision {
	key := maphash.String(r.seed, stream)
	s := &r.shards[key>>58]
	if len(s.keys) == 0 {
		return eventstore.NoStream
	}
	return eventstore.Revision(s.next[s.find(key)]) - 1
}

// find returns the slot of a key, or the free slot where it belongs.
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
