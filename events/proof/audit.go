package proof

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

// StoredTree is the tree that a projection stores. It may have been altered together with the log,
// so it is evidence and not proof.
type StoredTree struct {
	Size int64               // leaves
	UpTo eventstore.Position // the tree contains all events up to here
	// Leaves returns the concatenated hashes of some consecutive leaves, beginning with the leaf at
	// the index from. It returns no bytes if that leaf is missing.
	Leaves func(ctx context.Context, from int64) ([]byte, error)
}

// Place is an event of the log.
type Place struct {
	Index    int64 // counted from 0
	Position eventstore.Position
	Stream   string
	Revision eventstore.Revision
	Type     string
	Time     time.Time // when it was recorded
	End      bool      // the log ends before Index; the other fields describe its last event
}

// Suspect names what was altered.
type Suspect string

// The suspects.
const (
	Log         Suspect = "log"
	AlteredTree Suspect = "tree"        // in PostgreSQL; a signed head confirms the log
	Either      Suspect = "log or tree" // no signed head covers the event
)

// Alteration describes where the log or the stored tree was altered.
type Alteration struct {
	Of Suspect
	// The first altered event is one of the events from First to Last. They are equal if that event
	// is known exactly.
	First Place
	Last  Place
	// Head is the first signed head that does not match the log, or nil if all match.
	Head *Head
	// Missing is how many events of Head the log lacks at its end. It is 0 if the log lacks none,
	// or if an earlier event is known not to match. A log that was restored from an older backup
	// lacks events at its end.
	Missing int64
	// Sound means that all events of the log are confirmed, by the leaves of a tree that Head
	// confirms or by another head. It is true only if Missing is not 0.
	Sound bool
	// Forks means that no event of the log from First on is in the tree that Head confirms. This
	// happens if an older backup was restored and then written to. Forks is true only if First is
	// known exactly.
	Forks bool
	// Agreed is the event before First, on which log and tree agree; nil: none, or not known.
	Agreed *Place
	// DeniedBy is a head that matches the log and has at least as many events as Head, or nil if
	// there is none. If it is set, the log was altered before DeniedBy was signed, or one of the
	// two heads belongs to another log.
	DeniedBy *Head
}

// Findings are the result of an Audit.
type Findings struct {
	Tree       tlog.Tree           // of all events of the log
	Last       eventstore.Position // position of the last event
	Matching   []Head              // the heads that match the log
	Alteration *Alteration         // nil if there is none
}

// Audit compares the log with signed heads and the stored tree, event by event. It trusts only the
// heads. If the stored tree produces a head that the log does not, the leaves of the tree identify
// the altered event. If the tree was altered together with the log, the altered event lies between
// two heads.
type Audit struct {
	kept       StoredTree
	hasher     leaf.Hasher
	log        treeCheck
	last       Place           // the last event so far
	afterHeads map[int64]Place // the first event, and the first event after each head, by index
	headEnds   map[int64]Place // the last event of each head, by the size of the head

	chunk      []byte    // leaves of the stored tree
	chunkAt    int64     // index of the first leaf in chunk
	divergence *Place    // the first event that differs from the stored tree; nil: none yet
	stored     treeCheck // the stored tree from divergence on
	fork       fork
}

// treeCheck grows a tree and compares its root with the heads of the same size.
type treeCheck struct {
	Tree

	heads   []Head // sorted by size
	next    int    // index of the first head that is larger than the tree
	matches []bool // whether each head before next matched
}

// NewAudit returns an Audit. The heads may have any order.
func NewAudit(kept StoredTree, heads []Head) *Audit {
	heads = slices.SortedStableFunc(
		slices.Values(heads), func(a, b Head) int { return cmp.Compare(a.N, b.N) },
	)
	a := &Audit{kept: kept, afterHeads: make(map[int64]Place), headEnds: make(map[int64]Place)}
	a.log = treeCheck{heads: heads, matches: make([]bool, len(heads))}
	a.log.checkHeads()
	return a
}

// add adds a leaf and reports whether there are heads of the new size.
func (c *treeCheck) add(hash tlog.Hash) bool {
	c.Add(hash)
	return c.checkHeads()
}

func (c *treeCheck) checkHeads() (met bool) {
	for ; c.next < len(c.heads) && c.heads[c.next].N == c.leaves; c.next++ {
		c.matches[c.next], met = c.Root() == c.heads[c.next].Hash, true
	}
	return met
}

// clone returns an independent copy.
func (c *treeCheck) clone() treeCheck {
	other := *c
	other.peaks, other.matches = slices.Clone(c.peaks), slices.Clone(c.matches)
	return other
}

// Add compares the next events of the log. Callers MUST pass all events in the order of the log,
// without events of the event store itself.
func (a *Audit) Add(ctx context.Context, batch []eventstore.Recorded) error {
	for _, r := range batch {
		hash, index := a.hasher.Hash(r), a.log.leaves
		kept, ok, err := a.storedLeaf(ctx, index)
		if err != nil {
			return err
		}
		before := a.last
		a.last = Place{
			Index: index, Position: r.Position, Stream: r.Stream, Revision: r.Revision,
			Type: r.Type, Time: r.Time,
		}
		if index == 0 || a.log.next > 0 && a.log.heads[a.log.next-1].N == index {
			a.afterHeads[index] = a.last
		}
		if a.divergence == nil && (ok && kept != hash || !ok && !r.Position.After(a.kept.UpTo)) {
			a.diverge(a.last)
			if index > 0 {
				a.fork.agreed = &before
			}
		}
		if a.divergence != nil {
			a.fork.addLog(hash)
		}
		if a.log.add(hash) {
			a.headEnds[a.log.leaves] = a.last
		}
		if a.divergence != nil && ok && a.stored.leaves == index {
			a.fork.addStored(kept)
			a.stored.add(kept)
		}
	}
	return nil
}

func (a *Audit) diverge(from Place) {
	a.divergence, a.stored = &from, a.log.clone()
	a.fork.log = make(map[tlog.Hash]bool)
}

// Findings returns the findings after the whole log was passed to Add.
func (a *Audit) Findings(ctx context.Context) (Findings, error) {
	if a.divergence == nil && a.log.leaves < a.kept.Size {
		a.diverge(a.end())
	}
	for a.divergence != nil {
		kept, ok, err := a.storedLeaf(ctx, a.stored.leaves)
		if err != nil {
			return Findings{}, err
		}
		if !ok {
			break
		}
		a.fork.addStored(kept)
		a.stored.add(kept)
	}
	found := Findings{
		Tree: tlog.Tree{N: a.log.leaves, Hash: a.log.Root()}, Last: a.last.Position,
		Alteration: a.alteration(),
	}
	for i, head := range a.log.heads {
		if a.log.matches[i] {
			found.Matching = append(found.Matching, head)
		}
	}
	return found, nil
}

// end returns the place after the last event of the log.
func (a *Audit) end() Place {
	end := a.last
	end.Index, end.End = a.log.leaves, true
	return end
}

func (a *Audit) alteration() *Alteration {
	unfit := slices.Index(a.log.matches, false)
	if unfit < 0 {
		return a.treeAlteration()
	}
	found := a.alterationBefore(unfit)
	for i := range a.log.heads {
		if a.log.matches[i] && a.log.heads[i].N >= found.Head.N {
			found.DeniedBy = &a.log.heads[i]
			break
		}
	}
	return found
}

// alterationBefore returns the alteration that explains why the head at the index unfit does not
// match the log. All heads before it match.
func (a *Audit) alterationBefore(unfit int) *Alteration {
	head := &a.log.heads[unfit]
	sound := int64(0) // number of events that the previous head confirms
	if unfit > 0 {
		sound = a.log.heads[unfit-1].N
	}
	missing := max(0, head.N-a.log.leaves)
	if a.divergence != nil && a.stored.matches[unfit] {
		found := &Alteration{Of: Log, First: *a.divergence, Last: *a.divergence, Head: head}
		if a.divergence.End {
			found.Missing, found.Sound = missing, true
		} else {
			found.Forks, found.Agreed = a.fork.is(), a.fork.agreed
		}
		return found
	}
	first, ok := a.afterHeads[sound]
	if !ok {
		first = a.end()
	}
	last, ok := a.headEnds[head.N]
	if !ok {
		last = a.end()
	}
	return &Alteration{
		Of: Log, First: first, Last: last, Head: head, Missing: missing,
		Sound: missing > 0 && sound == a.log.leaves,
	}
}

// treeAlteration returns the difference between the stored tree and a log that matches all heads,
// or nil if they are equal.
func (a *Audit) treeAlteration() *Alteration {
	if a.divergence == nil {
		return nil
	}
	of := Either
	if n := len(a.log.heads); n > 0 && a.log.heads[n-1].N > a.divergence.Index {
		of = AlteredTree
	}
	return &Alteration{Of: of, First: *a.divergence, Last: *a.divergence}
}

// storedLeaf returns a leaf of the stored tree. It returns false if the tree has no such leaf.
func (a *Audit) storedLeaf(ctx context.Context, index int64) (hash tlog.Hash, ok bool, err error) {
	if index >= a.kept.Size {
		return hash, false, nil
	}
	offset := (index - a.chunkAt) * tlog.HashSize
	if offset < 0 || offset+tlog.HashSize > int64(len(a.chunk)) {
		if a.chunk, err = a.kept.Leaves(ctx, index); err != nil {
			return hash, false, fmt.Errorf("leaves of the tree from %d on: %w", index, err)
		}
		a.chunkAt, offset = index, 0
		if len(a.chunk) < tlog.HashSize {
			return hash, false, nil
		}
	}
	return tlog.Hash(a.chunk[offset : offset+tlog.HashSize]), true, nil
}
