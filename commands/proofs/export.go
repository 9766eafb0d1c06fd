package proofs

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/archive"
)

// Exported describes a file of exported events that matches its manifest.
type Exported struct {
	Account string // id of the account whose events it has; empty: all accounts
	Events  int64
	Last    uint64 // commit position of the last event
	Root    string // hash of the Merkle tree over the events, in base64

	leaves []treeLeaf
}

// treeLeaf is the position and the hash of an event.
type treeLeaf struct {
	at   archive.Position
	hash tlog.Hash
}

// IsExport reports whether a file begins as an export does.
func IsExport(file string) bool {
	return strings.HasPrefix(strings.TrimPrefix(file, "# "), `{"export":`)
}

// ReadExport reads a file of exported events. If the file differs from its manifest, IsUnproven is
// true for the returned error.
func ReadExport(file string) (Exported, error) {
	var leaves []treeLeaf
	header, sum, err := archive.CheckEach(
		strings.NewReader(file), func(at archive.Position, hash tlog.Hash) {
			leaves = append(leaves, treeLeaf{at, hash})
		},
	)
	return Exported{
		Account: header.Account, Events: sum.Count, Last: sum.Last.Commit,
		Root: sum.Root.String(), leaves: leaves,
	}, err
}

// Logged reports whether the log reaches to the last event of an export.
func (p *Prover) Logged(ctx context.Context, of Exported) (bool, error) {
	end, err := p.cfg.Store.Head(ctx)
	return of.Last <= end.Commit, err
}

// CheckExport checks that the log has each event of an export, by the hashes in the tree of the
// log. If an event is missing, CheckExport returns the error of Tree.LeafIndexes.
func (p *Prover) CheckExport(ctx context.Context, of Exported) error {
	for some := range slices.Chunk(of.leaves, exportGroup) {
		n := len(some)
		commit, prepare, leaves := make([]uint64, n), make([]uint64, n), make([]tlog.Hash, n)
		for i, l := range some {
			commit[i], prepare[i], leaves[i] = l.at.Commit, l.at.Prepare, l.hash
		}
		if _, err := p.cfg.Tree.LeafIndexes(ctx, commit, prepare, leaves); err != nil {
			return err
		}
	}
	return nil
}

// exportGroup is the maximum number of exported events in one query of the tree. It is more than a
// call of the API sends.
const exportGroup = 16 << 10
