package links

import (
	"unsafe"

	"github.com/google/uuid"

	"linkledger/projections/notes"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

const (
	// maxRecent bounds the rows that a build remembers, in bytes. A build remembers at least the
	// last maxRecent bytes, and at most twice that and the rows of two transactions.
	maxRecent = 24 << 20
	// mapEntrySize is about how many bytes an entry of a map takes in addition to its contents.
	mapEntrySize = 48
)

// linkLoader makes the folds of a bulk load. It remembers links that were created, read or changed
// recently, so that the folds need not query them again. This helps because most links are edited
// soon after their creation. It remembers the rows of a transaction at least until the transaction
// is committed.
type linkLoader struct {
	of       linkFolds
	links    recentCache[uuid.UUID, *readmodel.Link]
	accounts recentCache[uuid.UUID, accountCounts]
	size     int // bytes of the rows to write
}

func newLinkLoader(of linkFolds) *linkLoader {
	return &linkLoader{
		of:    of,
		links: recentCache[uuid.UUID, *readmodel.Link]{sizeOf: linkSize},
		accounts: recentCache[uuid.UUID, accountCounts]{
			sizeOf: func(accountCounts) int {
				return mapEntrySize + int(unsafe.Sizeof(accountCounts{}))
			},
		},
	}
}

func linkSize(row *readmodel.Link) int {
	const idSize = len(uuid.UUID{})
	texts := len(row.LongURL) + len(row.Note) + len(row.Hash)
	return mapEntrySize + int(unsafe.Sizeof(*row)) + texts + len(row.TagIDs)*idSize
}

// Begin makes room for the rows of the next transaction. The previous transaction MUST be
// committed.
func (l *linkLoader) Begin() {
	l.links.age()
	l.accounts.age()
	l.size = 0
}

func (l *linkLoader) Next() projection.Fold {
	return notes.NewFold(newLinkFold(l, l.of.judgement), l.of.keys, linkNotes)
}

func (l *linkLoader) PendingBytes() int { return l.size }

// recentCache holds the values that were put or read last, in the two maps young and old. When
// young is too big, age replaces old with it.
type recentCache[K comparable, V any] struct {
	sizeOf     func(V) int // in bytes
	young, old map[K]V
	size       int // of the values in young, in bytes
}

func (r *recentCache[K, V]) get(key K) (V, bool) {
	value, ok := r.young[key]
	if !ok {
		if value, ok = r.old[key]; ok {
			r.put(key, value)
		}
	}
	return value, ok
}

func (r *recentCache[K, V]) put(key K, value V) {
	if r.young == nil {
		r.young = make(map[K]V)
	}
	if _, ok := r.young[key]; !ok {
		r.size += r.sizeOf(value)
	}
	r.young[key] = value
}

func (r *recentCache[K, V]) age() {
	if r.size > maxRecent {
		r.old, r.young, r.size = r.young, nil, 0
	}
}
