package links

import (
	"unsafe"

	"github.com/google/uuid"

	"linkledger/projections/notes"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

const (
	// bytes of the rows that a build knows: at least as much, at most twice as much and two
	// transactions.
	mostRecent = 24 << 20
	place      = 48 // what an entry of a map takes beside its contents
)

// linkLoader makes the folds of a build. It knows links that were touched of late, so that the
// folds need not ask: most links are edited soon after they were created. What a transaction writes
// is known at least until it is in the tables.
type linkLoader struct {
	keys    *notes.Keys
	links   recent[uuid.UUID, *readmodel.Link]
	tallies recent[uuid.UUID, tally]
	size    int // bytes of the rows that are to be written
}

func newLinkLoader(keys *notes.Keys) *linkLoader {
	return &linkLoader{
		keys:  keys,
		links: recent[uuid.UUID, *readmodel.Link]{weigh: weighLink},
		tallies: recent[uuid.UUID, tally]{
			weigh: func(tally) int { return place + int(unsafe.Sizeof(tally{})) },
		},
	}
}

func weighLink(row *readmodel.Link) int {
	return place + int(unsafe.Sizeof(*row)) + len(row.LongURL) + len(row.Note) + len(
		row.Hash,
	) + len(row.TagIDs)*len(row.ID)
}

// Begin makes room for what the next transaction writes. What the one before wrote is in the tables
// by now.
func (l *linkLoader) Begin() {
	l.links.age()
	l.tallies.age()
	l.size = 0
}

func (l *linkLoader) Next() projection.Fold {
	return notes.Opening(newLinkFold(l), l.keys, linkNotes)
}

func (l *linkLoader) Touched() int { return l.size }

// recent holds the values that were put or asked for last.
type recent[K comparable, V any] struct {
	weigh      func(V) int // in bytes
	young, old map[K]V     // the old ones are dropped when the young ones have become too many
	size       int         // of the young ones
}

func (r *recent[K, V]) get(key K) (V, bool) {
	value, ok := r.young[key]
	if !ok {
		if value, ok = r.old[key]; ok {
			r.put(key, value)
		}
	}
	return value, ok
}

func (r *recent[K, V]) put(key K, value V) {
	if r.young == nil {
		r.young = make(map[K]V)
	}
	if _, ok := r.young[key]; !ok {
		r.size += r.weigh(value)
	}
	r.young[key] = value
}

func (r *recent[K, V]) age() {
	if r.size > mostRecent {
		r.old, r.young, r.size = r.young, nil, 0
	}
}
