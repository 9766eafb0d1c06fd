package proofs

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
)

// Tree reads the stored Merkle tree over the log. In the service it is a logtree.Reader. What it
// returns need not be trusted: each proof is checked before it is written.
type Tree interface {
	// Size returns the number of leaves.
	Size(ctx context.Context) (int64, error)
	// Hashes returns a reader of the hashes of the tree.
	Hashes(ctx context.Context) tlog.HashReader
	// LeafIndex returns the index, from 0, of the leaf of the event at a position. It fails if the
	// tree has no such leaf there.
	LeafIndex(ctx context.Context, commit, prepare uint64, leaf tlog.Hash) (int64, error)
}

// Sign returns the head of a tree, signed with a private key. It returns proof.ErrNoKey if that is
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

// Write writes a file of proofs that rest on a head: that the log continues older heads, and that
// it has events, which come in the order of the log. Events after the head are left out; later
// counts them. It returns proof.ErrUnproven if something is not so, or an error of the tree.
func Write(
	ctx context.Context, to io.Writer, tree Tree, head Head, older []Head,
	recorded []eventstore.Recorded,
) (later int, err error) {
	out, err := proof.NewWriter(to, head, tree.Hashes(ctx))
	if err != nil {
		return 0, err
	}
	for _, since := range older {
		if err := out.Since(since); err != nil {
			return 0, err
		}
	}
	var hasher proof.Hasher
	for _, r := range recorded {
		index, err := tree.LeafIndex(ctx, r.Position.Commit, r.Position.Prepare, hasher.Leaf(r))
		switch {
		case err != nil:
			return 0, fmt.Errorf("event at position %s: %w", r.Position, err)
		case index >= head.N:
			later++
			continue
		}
		if err := out.Event(r, index); err != nil {
			return 0, err
		}
	}
	return later, out.Close()
}

// begins reports whether a tree begins with the tree of a head.
func begins(ctx context.Context, tree Tree, head Head) (bool, error) {
	size, err := tree.Size(ctx)
	if err != nil || head.N > size {
		return false, err
	}
	root, err := tlog.TreeHash(head.N, tree.Hashes(ctx))
	return root == head.Hash, err
}
