package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/internal/auditor"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
)

// auditCommand reads the log for auditors, and changes links back to what they were.
type auditCommand struct {
	History auditHistory `cmd:"" help:"Tell everything that happened to a hash and to the links that ever lived under it."`
	At      auditAt      `cmd:"" help:"Tell where a hash led at a moment, and how its link was set."`
	Export  auditExport  `cmd:"" help:"Write the stored events to a file that ends with a manifest."`

	Key         auditKey         `cmd:"" help:"Make a key that signs heads of the log, and print its public half."`
	Checkpoint  auditCheckpoint  `cmd:"" help:"Print the signed head of the log: keep it elsewhere."`
	Prove       auditProve       `cmd:"" help:"Print a proof of each event of a link, and that the log goes on from older heads."`
	VerifyProof auditVerifyProof `cmd:"" help:"Verify a file of proofs by the public key; no installation is needed."`
	Verify      auditVerify      `cmd:"" help:"Read the whole log, and tell the first event that is not as the tree and the signed heads have it."`

	Restore auditRestore `cmd:"" help:"Undo the deletion of a link, or make a link as it was in an earlier version."`
	Undo    auditUndo    `cmd:"" help:"Undo all that one call of the API changed, but for links that were changed since."`

	ImportCheck auditImportCheck `cmd:"" help:"Check a file of export against its manifest; no installation is needed."`
}

// auditHistory tells the history of a hash.
type auditHistory struct {
	installation.Installation
	Hash    string `arg:"" help:"Hash of a link, now or at any time."`
	Account string `help:"User name or id of an account: tell of its links alone." placeholder:"NAME"`
	Clicks  bool   `help:"Tell every click in place of the clicks of each day; this reads the log from the first claim of the hash on."`
	Format  string `help:"table, json, ndjson or csv." enum:"table,json,ndjson,csv" default:"table"`
}

// Run implements the command.
func (c *auditHistory) Run(ctx context.Context, p *process) error {
	return auditor.History(ctx, operator(&c.Installation, p), auditor.HistoryQuery{
		Hash: c.Hash, Account: c.Account, Clicks: c.Clicks, Format: c.Format,
	})
}

// auditAt tells what a hash led to at a moment.
type auditAt struct {
	operatorFlags
	Hash    string  `arg:"" help:"Hash of a link at that time."`
	Time    instant `help:"The moment: RFC 3339, or the beginning of a day, UTC." placeholder:"TIME" required:""`
	Account string  `help:"User name or id of an account: tell of its links alone." placeholder:"NAME"`
}

// Run implements the command.
func (c *auditAt) Run(ctx context.Context, p *process) error {
	return auditor.LinkAt(ctx, c.by(p), c.Hash, c.Account, c.Time.Time)
}

// auditRestore brings a link back.
type auditRestore struct {
	operatorFlags
	Hash     string `arg:"" help:"Hash of the link, or the one that it had when it was deleted."`
	Revision *int64 `help:"Of an event in the stream of the link, as history tells it: the link becomes as it was right after that event. Without it a deleted link lives again." placeholder:"N"`
}

// Run implements the command.
func (c *auditRestore) Run(ctx context.Context, p *process) error {
	return auditor.Restore(ctx, c.by(p), c.Hash, c.Revision)
}

// auditUndo undoes a batch.
type auditUndo struct {
	operatorFlags
	Batch string `arg:"" help:"Id of a batch, as history tells it."`
}

// Run implements the command.
func (c *auditUndo) Run(ctx context.Context, p *process) error {
	batch, err := uuid.Parse(c.Batch)
	if err != nil {
		return usage.Errorf("the id of a batch is a UUID, not %q", c.Batch)
	}
	return auditor.Undo(ctx, c.by(p), batch)
}

// auditExport writes the stored events to a file.
type auditExport struct {
	installation.Installation
	Account string  `help:"User name or id of an account: export its links, hashes, tags and settings alone, without clicks." placeholder:"NAME"`
	From    instant `help:"Export what was recorded at this time or later: RFC 3339, or a day, UTC." placeholder:"TIME"`
	To      instant `help:"Export what was recorded before this time." placeholder:"TIME"`
	Format  string  `help:"ndjson or csv." enum:"ndjson,csv" default:"ndjson"`
	Output  string  `help:"File to write; it must not exist. By default standard output." placeholder:"FILE"`
	Resume  string  `help:"Go on with a file whose export was interrupted; what it exports stands in it." placeholder:"FILE"`
}

// Run implements the command.
func (c *auditExport) Run(ctx context.Context, p *process) error {
	return auditor.Export(ctx, operator(&c.Installation, p), auditor.ExportRequest{
		Account: c.Account, From: c.From.Time, To: c.To.Time, Format: c.Format, Output: c.Output, Resume: c.Resume,
	})
}

// auditImportCheck checks a file that export wrote.
type auditImportCheck struct {
	File string `arg:"" help:"File that export wrote." type:"existingfile"`
}

// Run implements the command.
func (c *auditImportCheck) Run(p *process) error {
	return auditor.CheckExport(c.File, p.Stdout)
}

// instant is a time on the command line.
type instant struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *instant) UnmarshalText(text []byte) error {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, string(text)); err == nil {
			i.Time = at.UTC()
			return nil
		}
	}
	return fmt.Errorf("%q is neither a time such as 2026-01-31T12:00:00Z nor a day such as 2026-01-31", text)
}
