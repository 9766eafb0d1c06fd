package proof

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// newLog returns a log of n events, with space for other events between any two positions.
func newLog(n int) []eventstore.Recorded {
	log := make([]eventstore.Recorded, n)
	for i := range log {
		at := uint64(100 * (i + 1))
		log[i] = eventstore.Recorded{
			ID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)), Stream: fmt.Sprintf("url-%d", i%3),
			Revision: eventstore.Revision(i / 3),
			Position: eventstore.Position{Commit: at, Prepare: at}, Type: fmt.Sprintf("url.%d.v1", i%2), Time: noon,
			Data: fmt.Appendf(nil, `{"n":%d}`, i), Metadata: fmt.Appendf(nil, `{"m":%d}`, i),
		}
	}
	return log
}

// treeOf returns the tree of a log and its concatenated leaves.
func treeOf(log []eventstore.Recorded) (tlog.Tree, []byte) {
	var (
		tree   Tree
		hasher leaf.Hasher
		leaves []byte
	)
	for _, r := range log {
		leaf := hasher.Hash(r)
		tree.Add(leaf)
		leaves = append(leaves, leaf[:]...)
	}
	return tlog.Tree{N: tree.Size(), Hash: tree.Root()}, leaves
}

// storedTreeOf returns the stored tree of a log, which is read in chunks.
func storedTreeOf(log []eventstore.Recorded) StoredTree {
	tree, leaves := treeOf(log)
	stored := StoredTree{Size: tree.N, Leaves: func(_ context.Context, from int64) ([]byte, error) {
		rest := leaves[from*tlog.HashSize:]
		return rest[:min(len(rest), 5*tlog.HashSize)], nil
	}}
	if len(log) > 0 {
		stored.UpTo = log[len(log)-1].Position
		stored.UpTo.Commit += 50 // the position may be after the last event
	}
	return stored
}

func headsOf(log []eventstore.Recorded, sizes ...int) []Head {
	var heads []Head
	for _, n := range sizes {
		tree, _ := treeOf(log[:n])
		heads = append(heads, Head{Tree: tree})
	}
	return heads
}

func audited(t interface{ Fatal(...any) }, log []eventstore.Recorded, stored StoredTree, heads []Head) Findings {
	audit := NewAudit(stored, heads)
	for batch := range slices.Chunk(log, 7) {
		if err := audit.Add(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	found, err := audit.Findings(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// tampering alters a log at an event. It returns the index of the first altered event.
type tampering func(log []eventstore.Recorded, at int) ([]eventstore.Recorded, int)

func changing(change func(*eventstore.Recorded)) tampering {
	return func(log []eventstore.Recorded, at int) ([]eventstore.Recorded, int) {
		change(&log[at])
		return log, at
	}
}

var tamperings = map[string]tampering{
	"other data": changing(
		func(r *eventstore.Recorded) { r.Data = bytes.Replace(r.Data, []byte("n"), []byte("x"), 1) },
	),
	"no data":           changing(func(r *eventstore.Recorded) { r.Data = nil }),
	"other metadata":    changing(func(r *eventstore.Recorded) { r.Metadata = []byte(`{}`) }),
	"metadata for data": changing(func(r *eventstore.Recorded) { r.Data, r.Metadata = r.Metadata, r.Data }),
	"other type":        changing(func(r *eventstore.Recorded) { r.Type += "x" }),
	"other id":          changing(func(r *eventstore.Recorded) { r.ID[3]++ }),
	"other stream":      changing(func(r *eventstore.Recorded) { r.Stream += "x" }),
	"other revision":    changing(func(r *eventstore.Recorded) { r.Revision++ }),
	"other time":        changing(func(r *eventstore.Recorded) { r.Time = r.Time.Add(100) }),
	"other position":    changing(func(r *eventstore.Recorded) { r.Position.Commit++ }),
	"removed": func(log []eventstore.Recorded, at int) ([]eventstore.Recorded, int) {
		return slices.Delete(log, at, at+1), at
	},
	"cut off":  func(log []eventstore.Recorded, at int) ([]eventstore.Recorded, int) { return log[:at], at },
	"inserted": insert,
	"appended": func(log []eventstore.Recorded, _ int) ([]eventstore.Recorded, int) { return insert(log, len(log)) },
	"reordered": func(log []eventstore.Recorded, at int) ([]eventstore.Recorded, int) {
		at = min(at, len(log)-2)
		log[at], log[at+1] = log[at+1], log[at]
		log[at].Position, log[at+1].Position = log[at+1].Position, log[at].Position
		return log, at
	},
}

// insert adds an event before the one with the index. At the end of the log it adds the event after
// the last one.
func insert(log []eventstore.Recorded, at int) ([]eventstore.Recorded, int) {
	extra := log[min(at, len(log)-1)]
	extra.ID, extra.Position.Commit = uuid.New(), uint64(100*at+1)
	return slices.Insert(log, at, extra), at
}

// TestAudit checks that every alteration is found at every index: by the tree alone, by the tree
// and a head, and by a head alone if the tree was altered too.
func TestAudit(t *testing.T) {
	t.Parallel()
	for name, tamper := range tamperings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				log := newLog(rapid.IntRange(2, 40).Draw(t, "events"))
				at := rapid.OneOf(rapid.IntRange(0, len(log)-1), rapid.Just(len(log)-1)).Draw(t, "at")
				altered, first := tamper(slices.Clone(log), at)
				before := headsOf(log, rapid.SliceOfN(rapid.IntRange(0, first), 0, 3).Draw(t, "heads before")...)
				after := headsOf(log, len(log))
				if name == "appended" { // no head covers the event, and a later head might have been signed with it
					after = nil
				}
				holdAgainstTree(t, log, altered, first, before, after)
				if after != nil {
					holdAgainstHead(t, altered, first, before, after)
				}
			})
		})
	}
}

// holdAgainstTree audits with the tree of the original log.
func holdAgainstTree(t *rapid.T, log, altered []eventstore.Recorded, first int, before, after []Head) {
	end := first == len(altered)
	a := audited(t, altered, storedTreeOf(log), before).Alteration
	if a == nil || a.Of != Either || a.First.Index != int64(first) || a.First.End != end || a.First != a.Last ||
		a.Head != nil {
		t.Fatalf("with the tree: %+v, want %d", a, first)
	}
	if after == nil {
		return
	}
	found := audited(t, altered, storedTreeOf(log), append(after, before...))
	a = found.Alteration
	if a == nil || a.Of != Log || a.First.Index != int64(first) || a.First.End != end || a.First != a.Last ||
		a.Head.N != after[0].N {
		t.Fatalf("with tree and head: %+v, want %d", a, first)
	}
	if len(found.Matching) != len(before) {
		t.Fatalf("%d heads match, want %d", len(found.Matching), len(before))
	}
	a = audited(t, log, storedTreeOf(altered), after).Alteration // the tree was altered, and the log was not
	if len(altered) > first && (a == nil || a.Of != AlteredTree || a.First.Index != int64(first)) {
		t.Fatalf("an altered tree: %+v, want %d", a, first)
	}
}

// holdAgainstHead audits with a tree that was rebuilt from the altered log. The altered event lies
// between two heads.
func holdAgainstHead(t *rapid.T, altered []eventstore.Recorded, first int, before, after []Head) {
	a := audited(t, altered, storedTreeOf(altered), append(after, before...)).Alteration
	sound := int64(0)
	for _, head := range before {
		sound = max(sound, head.N)
	}
	if a == nil || a.Of != Log || a.Head.N != after[0].N || a.First.Index != sound || a.Last.Index < int64(first) ||
		a.Last.End != (int64(len(altered)) < a.Head.N) {
		t.Fatalf("with a head: %+v, want %d after %d", a, first, sound)
	}
}

// TestAuditOfAShorterLog checks that a log that is only shorter than a head is told from one that was altered.
func TestAuditOfAShorterLog(t *testing.T) {
	t.Parallel()
	log := newLog(20)
	shorter, changed := slices.Clone(log[:12]), slices.Clone(log[:12])
	changed[3].Data = nil
	for name, test := range map[string]struct {
		log     []eventstore.Recorded
		tree    StoredTree
		heads   []Head
		missing int64
		sound   bool
	}{
		"with the tree of the head": {shorter, storedTreeOf(log), headsOf(log, 20), 8, true},
		"with the tree of the log":  {shorter, storedTreeOf(shorter), headsOf(log, 20), 8, false},
		"up to a head":              {shorter, storedTreeOf(shorter), headsOf(log, 12, 20), 8, true},
		"after a head":              {shorter, storedTreeOf(shorter), headsOf(log, 11, 20), 8, false},
		"nothing is left":           {nil, storedTreeOf(nil), headsOf(log, 20), 20, true},
		"altered":                   {changed, storedTreeOf(log), headsOf(log, 20), 0, false},
		"altered, with its tree":    {changed, storedTreeOf(changed), headsOf(log, 20), 8, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := audited(t, test.log, test.tree, test.heads).Alteration
			if a == nil || a.Of != Log || a.Missing != test.missing || a.Sound != test.sound {
				t.Errorf("%+v", a)
			}
			if test.missing > 0 && test.log != nil && a != nil && !a.Last.Time.Equal(test.log[11].Time) {
				t.Errorf("the log ends at %s", a.Last.Time)
			}
		})
	}
}

// TestAuditOfAFork checks that a log that was restored and then written on is told from one in which events were
// altered, as long as the tree of the head is there.
func TestAuditOfAFork(t *testing.T) {
	t.Parallel()
	log := newLog(20)
	writtenOn := func(kept, more int) []eventstore.Recorded {
		forked := slices.Clone(newLog(kept + more))
		for i := range forked[kept:] {
			forked[kept+i].ID = uuid.New()
			forked[kept+i].Time = noon.Add(time.Hour)
		}
		return forked
	}
	for name, test := range map[string]struct {
		log   []eventstore.Recorded
		first int64
		forks bool
	}{
		"longer":                 {writtenOn(12, 30), 12, true},
		"as long":                {writtenOn(12, 8), 12, true},
		"still shorter":          {writtenOn(12, 3), 12, true},
		"one event":              {writtenOn(12, 1), 12, true},
		"all of it":              {writtenOn(0, 30), 0, true},
		"another last event":     {writtenOn(19, 1), 19, false},
		"more after the last":    {writtenOn(19, 5), 19, true},
		"an event that changed":  {slices.Concat(log[:5], writtenOn(5, 1)[5:], log[6:]), 5, false},
		"an event that is gone":  {slices.Delete(slices.Clone(log), 5, 6), 5, false},
		"an event in between":    {slices.Insert(slices.Clone(log), 5, writtenOn(5, 1)[5]), 5, false},
		"the one before is gone": {slices.Delete(slices.Clone(log), 18, 19), 18, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := audited(t, test.log, storedTreeOf(log), headsOf(log, 20)).Alteration
			if a == nil || a.Of != Log || a.First.Index != test.first || a.Forks != test.forks {
				t.Fatalf("found %+v", a)
			}
			if (a.Agreed == nil) != (test.first == 0) || a.Agreed != nil && a.Agreed.Index != test.first-1 {
				t.Errorf("they agree up to %+v", a.Agreed)
			}
		})
	}
}

// TestAuditOfASoundLog checks that an unaltered log matches all its heads and the stored tree, even
// if the tree lags.
func TestAuditOfASoundLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := newLog(rapid.IntRange(0, 40).Draw(t, "events"))
		heads := headsOf(log, rapid.SliceOfN(rapid.IntRange(0, len(log)), 0, 5).Draw(t, "heads")...)
		stored := storedTreeOf(log[:rapid.IntRange(0, len(log)).Draw(t, "stored")])
		found := audited(t, log, stored, heads)
		want, _ := treeOf(log)
		if found.Alteration != nil || len(found.Matching) != len(heads) || found.Tree != want {
			t.Fatalf("found %+v", found)
		}
	})
}

// TestAuditOfHeadsThatDenyEachOther checks that the audit does not decide which of two
// contradicting heads is right. One may belong to another log, or may have been signed after the
// log was altered.
func TestAuditOfHeadsThatDenyEachOther(t *testing.T) {
	t.Parallel()
	log := newLog(40)
	other, _ := tamperings["other data"](slices.Clone(log), 17)
	heads := append(headsOf(log, 15, 30), headsOf(other, 20)...)
	found := audited(t, log, storedTreeOf(log), heads)
	a := found.Alteration
	if a == nil || a.Of != Log || a.Head.N != 20 || a.DeniedBy == nil || a.DeniedBy.N != 30 || a.First.Index != 15 ||
		a.Last.Index != 19 ||
		len(found.Matching) != 2 {
		t.Errorf("found %+v", a)
	}
	a = audited(t, log, storedTreeOf(other), heads).Alteration // the tree shows the index
	if a == nil || a.Of != Log || a.First.Index != 17 || a.Last.Index != 17 || a.DeniedBy == nil {
		t.Errorf("with the other tree: found %+v", a)
	}
	if a := audited(t, log, storedTreeOf(log), headsOf(other, 20)).Alteration; a == nil || a.DeniedBy != nil {
		t.Errorf("without a later head: found %+v", a)
	}
}

// TestAuditBesideAnotherLog checks that a tree that was altered differently from the log does not
// show the index.
func TestAuditBesideAnotherLog(t *testing.T) {
	t.Parallel()
	log := newLog(40)
	altered, _ := tamperings["other data"](slices.Clone(log), 25)
	other, _ := tamperings["other data"](slices.Clone(log), 20)
	a := audited(t, altered, storedTreeOf(other), headsOf(log, 10, 40)).Alteration
	if a == nil || a.Of != Log || a.First.Index != 10 || a.Last.Index != 39 {
		t.Errorf("found %+v", a)
	}
}

// TestAuditBesideHalfATree checks that missing tiles count as an altered tree.
func TestAuditBesideHalfATree(t *testing.T) {
	t.Parallel()
	log := newLog(40)
	stored := storedTreeOf(log)
	whole := stored.Leaves
	stored.Leaves = func(ctx context.Context, from int64) ([]byte, error) {
		if from >= 20 {
			return nil, nil
		}
		return whole(ctx, from)
	}
	a := audited(t, log, stored, headsOf(log, 40)).Alteration
	if a == nil || a.Of != AlteredTree || a.First.Index != 20 {
		t.Errorf("found %+v", a)
	}
}
