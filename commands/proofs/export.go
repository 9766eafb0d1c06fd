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

	text string
}

// IsExport reports whether a file begins as an export does.
func IsExport(file string) bool {
	return strings.HasPrefix(strings.TrimPrefix(file, "# "), `{"export":`)
}

// ReadExport reads a file of exported events. It returns an error of which IsUnproven is true if
// the file is not as its manifest says.
func ReadExport(file string) (Exported, error) {
	header, sum, err := archive.Check(strings.NewReader(file))
	return Exported{header.Account, sum.Count, sum.Last.Commit, sum.Root.String(), file}, err
}

// Logged reports whether the log reaches to the last event of an export.
func (p *Prover) Logged(ctx context.Context, of Exported) (bool, error) {
	end, err := p.cfg.Store.Head(ctx)
	return of.Last <= end.Commit, err
}

// CheckExport checks that the log has each event of an export, by the hashes of its tree. It
// returns the error of the tree for the first that it does not have.
func (p *Prover) CheckExport(ctx context.Context, of Exported) error {
	_, _, err := archive.CheckEach(
		strings.NewReader(of.text), func(at archive.Position, leaf tlog.Hash) error {
			if _, err := p.cfg.Tree.LeafIndex(ctx, at.Commit, at.Prepare, leaf); err != nil {
				return fmt.Errorf("event at position %d: %w", at.Commit, err)
			}
			return nil
		},
	)
	return err
}
