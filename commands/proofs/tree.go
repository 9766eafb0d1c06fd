package proofs

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
)

// Tree reads the stored Merkle tree over the log. In the service its functions are those of
// logtree.Reader. What they return need not be trusted: each proof is checked before it is written.
type Tree struct {
	Size   func(ctx context.Context) (int64, error) // leaves
	Hashes func(ctx context.Context) tlog.HashReader
	// LeafIndex returns the index, from 0, of the leaf of the event at a position. It fails if the
	// tree has no such leaf there.
	LeafIndex func(ctx context.Context, commit, prepare uint64, leaf tlog.Hash) (int64, error)
}

// Sign returns the head of the tree, signed with a private key. It returns proof.ErrNoKey if that
// is no signing key.
func (t Tree) Sign(ctx context.Context, key string) (proof.Head, error) {
	size, err := t.Size(ctx)
	if err != nil {
		return proof.Head{}, err
	}
	root, err := tlog.TreeHash(size, t.Hashes(ctx))
	if err != nil {
		return proof.Head{}, err
	}
	return proof.Sign(tlog.Tree{N: size, Hash: root}, key)
}

// Write writes a file of proofs that rest on a head: that the log continues older heads, and that
// it has events, which come in the order of the log. Events after the head are left out; later
// counts them. It returns proof.ErrUnproven if something is not so.
func (t Tree) Write(
	ctx context.Context, to io.Writer, head proof.Head, older []proof.Head,
	recorded []eventstore.Recorded,
) (later int, err error) {
	out, err := proof.NewWriter(to, head, t.Hashes(ctx))
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
		index, err := t.LeafIndex(ctx, r.Position.Commit, r.Position.Prepare, hasher.Leaf(r))
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

// has reports whether the tree begins with the tree of a head.
func (t Tree) has(ctx context.Context, head proof.Head) (bool, error) {
	size, err := t.Size(ctx)
	if err != nil || head.N > size {
		return false, err
	}
	root, err := tlog.TreeHash(head.N, t.Hashes(ctx))
	return root == head.Hash, err
}
