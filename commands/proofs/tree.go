package proofs

import (
	"context"
	"io"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/events/proof/leaf"
)

// Tree reads the stored Merkle tree over the log. In the service it is a logtree.Reader. Its
// results need not be trusted: each proof is checked before it is written.
type Tree interface {
	// Size returns the number of leaves.
	Size(ctx context.Context) (int64, error)
	// Hashes returns a reader of the hashes of the tree.
	Hashes(ctx context.Context) tlog.HashReader
	// LeafIndexes returns the indexes, from 0, of leaves. commit and prepare are the positions of
	// their events in the log. It fails if the tree does not have each leaf at its position.
	LeafIndexes(
		ctx context.Context, commit, prepare []uint64, leaves []tlog.Hash,
	) ([]int64, error)
}

// Sign returns the head of a tree, signed with a private key. It returns proof.ErrNoKey if key is
// no signing key.
func Sign(ctx context.Context, tree Tree, key string) (Head, error) {
	size, err := tree.Size(ctx)
	if err != nil {
		return Head{}, err
	}
	root, err := tlog.TreeHash(size, tree.Hashes(ctx))
	if err != nil {
		return Head{}, err
	}
	return proof.Sign(tlog.Tree{N: size, Hash: root}, key)
}

// Write writes a file of proofs that rest on a head. They prove that the log continues the older
// heads, and that it has the recorded events, which are in the order of the log. Write leaves out
// events after the head, and later is their number. It returns proof.ErrUnproven if one of these
// statements is not true, or an error of the tree.
func Write(
	ctx context.Context, to io.Writer, tree Tree, head Head, older []Head,
	recorded []eventstore.Recorded,
) (later int, err error) {
	hashes := &prefetched{tree: tree.Hashes(ctx)}
	out, err := proof.NewWriter(to, head, hashes)
	if err != nil {
		return 0, err
	}
	for _, since := range older {
		if err := out.Since(since); err != nil {
			return 0, err
		}
	}
	for some := range slices.Chunk(recorded, group) {
		indexes, err := indexesOf(ctx, tree, some)
		if err == nil {
			err = hashes.prefetch(head.N, indexes)
		}
		if err != nil {
			return 0, err
		}
		for i, index := range indexes {
			if index >= head.N {
				later++
				continue
			}
			if err := out.Event(some[i], index); err != nil {
				return 0, err
			}
		}
	}
	return later, out.Close()
}

// group is the maximum number of events in one query of the tree.
const group = 512

// indexesOf returns the indexes of events in a tree.
func indexesOf(
	ctx context.Context, tree Tree, recorded []eventstore.Recorded,
) ([]int64, error) {
	n := len(recorded)
	commit, prepare, leaves := make([]uint64, n), make([]uint64, n), make([]tlog.Hash, n)
	var hasher leaf.Hasher
	for i, r := range recorded {
		commit[i], prepare[i] = r.Position.Commit, r.Position.Prepare
		leaves[i] = hasher.Hash(r)
	}
	return tree.LeafIndexes(ctx, commit, prepare, leaves)
}

// prefetched reads the hashes of a tree, for many proofs at once.
type prefetched struct {
	tree  tlog.HashReader
	known map[int64]tlog.Hash
}

// ReadHashes implements tlog.HashReader.
func (p *prefetched) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hash, ok := p.known[index]
		if !ok {
			return p.tree.ReadHashes(indexes)
		}
		hashes[i] = hash
	}
	return hashes, nil
}

// prefetch reads the hashes that are needed to prove leaves. leaves are the indexes of the leaves,
// and size is the size of the tree. prefetch forgets the hashes of the previous call.
func (p *prefetched) prefetch(size int64, leaves []int64) error {
	needed := make(map[int64]bool)
	note := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		for _, index := range indexes {
			needed[index] = true
		}
		return make([]tlog.Hash, len(indexes)), nil
	})
	for _, index := range leaves {
		if index >= size {
			continue
		}
		if _, err := tlog.ProveRecord(size, index, note); err != nil {
			return err
		}
	}
	indexes := slices.Sorted(maps.Keys(needed))
	hashes, err := p.tree.ReadHashes(indexes)
	if err != nil {
		return err
	}
	p.known = make(map[int64]tlog.Hash, len(indexes))
	for i, index := range indexes {
		p.known[index] = hashes[i]
	}
	return nil
}

// begins reports whether the first leaves of a tree form the tree of a head.
func begins(ctx context.Context, tree Tree, head Head) (bool, error) {
	size, err := tree.Size(ctx)
	if err != nil || head.N > size {
		return false, err
	}
	root, err := tlog.TreeHash(head.N, tree.Hashes(ctx))
	return root == head.Hash, err
}
