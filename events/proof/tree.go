package proof

import (
	"crypto/sha256"

	"golang.org/x/mod/sumdb/tlog"
)

// Tree computes the root of an RFC 6962 Merkle tree leaf by leaf. It stores only the roots of the
// complete subtrees: one per set bit of the number of leaves. The zero Tree is empty.
type Tree struct {
	leaves int64
	peaks  []tlog.Hash // roots of complete subtrees, the largest first
}

// Add appends a leaf. Its hash is the tlog.RecordHash of the leaf.
func (t *Tree) Add(hash tlog.Hash) {
	for n := t.leaves; n&1 == 1; n >>= 1 {
		last := len(t.peaks) - 1
		hash = tlog.NodeHash(t.peaks[last], hash)
		t.peaks = t.peaks[:last]
	}
	t.peaks = append(t.peaks, hash)
	t.leaves++
}

// Size returns the number of leaves.
func (t *Tree) Size() int64 { return t.leaves }

// Root returns the root hash of the leaves so far.
func (t *Tree) Root() tlog.Hash {
	if t.leaves == 0 {
		return sha256.Sum256(nil)
	}
	last := len(t.peaks) - 1
	hash := t.peaks[last]
	for i := last - 1; i >= 0; i-- {
		hash = tlog.NodeHash(t.peaks[i], hash)
	}
	return hash
}
