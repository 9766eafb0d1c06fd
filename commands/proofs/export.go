package proofs

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/archive"
)

// Exported is a file of exported events that is as its manifest says.
type Exported struct {
	Account string // id of the account whose events it has; empty: those of all
	Events  int64
	Last    uint64 // commit position of the last event
	Root    string // hash of the Merkle tree over the events, in base64

	leaves []leaf
}

// leaf is the position and the hash of an event.
type leaf struct {
	at   archive.Position
	hash tlog.Hash
}

// IsExport reports whether a file begins as an export does.
func IsExport(file string) bool {
	return strings.HasPrefix(strings.TrimPrefix(file, "# "), `{"export":`)
}

// ReadExport reads a file of exported events. It returns an error of which IsUnproven is true if
// the file is not as its manifest says.
func ReadExport(file string) (Exported, error) {
	var leaves []leaf
	header, sum, err := archive.CheckEach(
		strings.NewReader(file), func(at archive.Position, hash tlog.Hash) {
			leaves = append(leaves, leaf{at, hash})
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

// CheckExport checks that the log has each event of an export, by the hashes of its tree. It
// returns the error of the tree for the first that it does not have.
func (p *Prover) CheckExport(ctx context.Context, of Exported) error {
	for _, l := range of.leaves {
		if _, err := p.cfg.Tree.LeafIndex(ctx, l.at.Commit, l.at.Prepare, l.hash); err != nil {
			return fmt.Errorf("event at position %d: %w", l.at.Commit, err)
		}
	}
	return nil
}
