package proof

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
)

// Kept is the tree that the projection keeps. It may have been altered like the log, so it is
// evidence and no proof.
type Kept struct {
	Size int64               // leaves
	UpTo eventstore.Position // it has all events up to here
	// Leaves returns the hashes of leaves, one after the other, from the one with that index on:
	// some of them, none where they are missing.
	Leaves func(ctx context.Context, from int64) ([]byte, error)
}

// Place is an event of the log.
type Place struct {
	Index    int64 // from 0
	Position eventstore.Position
	Stream   string
	Revision eventstore.Revision
	Type     string
	End      bool // the log ends where there should be an event; the place is that of its last one
}

// Suspect is what was altered.
type Suspect string

// The suspects.
const (
	Log      Suspect = "log"
	KeptTree Suspect = "tree"        // in PostgreSQL: a signed head vouches for the log
	Either   Suspect = "log or tree" // no head goes as far as to tell which
)

// Alteration is where the log is not what it was.
type Alteration struct {
	Of Suspect
	// the first event that does not fit, or where it can't be told the first of those that one is
	// among
	First Place
	Last  Place // the last of these
	Head  *Head // that does not fit; nil: none
	// DeniedBy is a head of as many events or more that fits: the log was altered before that one
	// was signed, or one of the two is of another log. Nil: none.
	DeniedBy *Head
}

// Findings are what an Audit has found.
type Findings struct {
	Tree       tlog.Tree           // over all events of the log
	Last       eventstore.Position // of the last of them
	Fitting    []Head              // that the log fits
	Alteration *Alteration         // nil: none
}

// Audit holds the log against signed heads and the kept tree, event by event. It believes heads
// alone. Where the kept tree gives one that the log does not, its leaves tell the very event; where
// it was altered together with the log, the event is known to lie between two heads.
type Audit struct {
	kept   Kept
	hasher Hasher
	log    course
	last   Place           // the last event so far
	behind map[int64]Place // the events right behind heads, and the first one, by index
	ends   map[int64]Place // the last events of heads, by their sizes

	chunk    []byte // leaves of the kept tree
	chunkAt  int64  // index of its first
	departed *Place // the first event that the kept tree has not; nil: none yet
	other    course // the kept tree, where the log departed from it
}

// course is a tree as it grows, and which heads it gives on its way.
type course struct {
	Tree

	heads []Head // smallest first
	next  int    // the first one that is to come
	fits  []bool
}

// NewAudit begins an audit. Heads may come in any order.
func NewAudit(kept Kept, heads []Head) *Audit {
	heads = slices.SortedStableFunc(
		slices.Values(heads), func(a, b Head) int { return cmp.Compare(a.N, b.N) },
	)
	a := &Audit{kept: kept, behind: make(map[int64]Place), ends: make(map[int64]Place)}
	a.log = course{heads: heads, fits: make([]bool, len(heads))}
	a.log.meet()
	return a
}

// add adds a leaf, and tells whether there are heads of trees of that size.
func (c *course) add(leaf tlog.Hash) bool {
	c.Add(leaf)
	return c.meet()
}

func (c *course) meet() (met bool) {
	for ; c.next < len(c.heads) && c.heads[c.next].N == c.leaves; c.next++ {
		c.fits[c.next], met = c.Root() == c.heads[c.next].Hash, true
	}
	return met
}

// fork returns the same course, to go on otherwise.
func (c *course) fork() course {
	other := *c
	other.peaks, other.fits = slices.Clone(c.peaks), slices.Clone(c.fits)
	return other
}

// Take takes in the next events of the log.
func (a *Audit) Take(ctx context.Context, batch []eventstore.Recorded) error {
	for _, r := range batch {
		leaf, index := a.hasher.Leaf(r), a.log.leaves
		kept, ok, err := a.keptLeaf(ctx, index)
		if err != nil {
			return err
		}
		a.last = Place{
			Index: index, Position: r.Position, Stream: r.Stream, Revision: r.Revision,
			Type: r.Type,
		}
		if index == 0 || a.log.next > 0 && a.log.heads[a.log.next-1].N == index {
			a.behind[index] = a.last
		}
		if a.departed == nil && (ok && kept != leaf || !ok && !r.Position.After(a.kept.UpTo)) {
			a.depart(a.last)
		}
		if a.log.add(leaf) {
			a.ends[a.log.leaves] = a.last
		}
		if a.departed != nil && ok && a.other.leaves == index {
			a.other.add(kept)
		}
	}
	return nil
}

func (a *Audit) depart(from Place) { a.departed, a.other = &from, a.log.fork() }

// Conclude tells what was found, when the whole log was taken in.
func (a *Audit) Conclude(ctx context.Context) (Findings, error) {
	if a.departed == nil && a.log.leaves < a.kept.Size {
		a.depart(a.end())
	}
	for a.departed != nil {
		kept, ok, err := a.keptLeaf(ctx, a.other.leaves)
		if err != nil {
			return Findings{}, err
		}
		if !ok {
			break
		}
		a.other.add(kept)
	}
	found := Findings{
		Tree: tlog.Tree{N: a.log.leaves, Hash: a.log.Root()}, Last: a.last.Position,
		Alteration: a.alteration(),
	}
	for i, head := range a.log.heads {
		if a.log.fits[i] {
			found.Fitting = append(found.Fitting, head)
		}
	}
	return found, nil
}

// end is the place where the log ends.
func (a *Audit) end() Place {
	end := a.last
	end.Index, end.End = a.log.leaves, true
	return end
}

func (a *Audit) alteration() *Alteration {
	unfit := slices.Index(a.log.fits, false)
	if unfit < 0 {
		return a.departure()
	}
	found := a.alterationBefore(unfit)
	for i := range a.log.heads {
		if a.log.fits[i] && a.log.heads[i].N >= found.Head.N {
			found.DeniedBy = &a.log.heads[i]
			break
		}
	}
	return found
}

// alterationBefore tells what was altered before the first head that does not fit.
func (a *Audit) alterationBefore(unfit int) *Alteration {
	head := &a.log.heads[unfit]
	sound := int64(0) // so many events are as they were
	if unfit > 0 {
		sound = a.log.heads[unfit-1].N
	}
	if a.departed != nil && a.other.fits[unfit] {
		return &Alteration{Of: Log, First: *a.departed, Last: *a.departed, Head: head}
	}
	first, ok := a.behind[sound]
	if !ok {
		first = a.end()
	}
	last, ok := a.ends[head.N]
	if !ok {
		last = a.end()
	}
	return &Alteration{Of: Log, First: first, Last: last, Head: head}
}

// departure tells of a kept tree that is another one than that of a log which fits all heads.
func (a *Audit) departure() *Alteration {
	if a.departed == nil {
		return nil
	}
	of := Either
	if n := len(a.log.heads); n > 0 && a.log.heads[n-1].N > a.departed.Index {
		of = KeptTree
	}
	return &Alteration{Of: of, First: *a.departed, Last: *a.departed}
}

// keptLeaf returns a leaf of the kept tree; false where it has none.
func (a *Audit) keptLeaf(ctx context.Context, index int64) (leaf tlog.Hash, ok bool, err error) {
	if index >= a.kept.Size {
		return leaf, false, nil
	}
	offset := (index - a.chunkAt) * tlog.HashSize
	if offset < 0 || offset+tlog.HashSize > int64(len(a.chunk)) {
		if a.chunk, err = a.kept.Leaves(ctx, index); err != nil {
			return leaf, false, fmt.Errorf("leaves of the tree from %d on: %w", index, err)
		}
		a.chunkAt, offset = index, 0
		if len(a.chunk) < tlog.HashSize {
			return leaf, false, nil
		}
	}
	return tlog.Hash(a.chunk[offset : offset+tlog.HashSize]), true, nil
}
