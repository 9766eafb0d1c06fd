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
	History auditHistory `cmd:"" help:"Show everything that happened to a hash and to the links that ever used it."`
	At      auditAt      `cmd:"" help:"Show where a hash led at a time, and the settings of its link."`
	Export  auditExport  `cmd:"" help:"Write the stored events to a file that ends with a manifest."`

	Key         auditKey         `cmd:"" help:"Make a key that signs heads of the log, and print its public half."`
	Checkpoint  auditCheckpoint  `cmd:"" help:"Print the signed head of the log. Keep it elsewhere."`
	Prove       auditProve       `cmd:"" help:"Print a proof of each event of a link, and a proof that the log continues older heads."`
	VerifyProof auditVerifyProof `cmd:"" help:"Verify a file of proofs with the public key. No installation is needed."`
	Verify      auditVerify      `cmd:"" help:"Read the whole log and report the first event that differs from the tree and the signed heads."`

	Restore auditRestore `cmd:"" help:"Undo the deletion of a link, or return a link to an earlier version."`
	Undo    auditUndo    `cmd:"" help:"Undo all that one API call changed, except links that were changed since."`

	ImportCheck auditImportCheck `cmd:"" help:"Check an exported file against its manifest. No installation is needed."`
}

// auditHistory tells the history of a hash.
type auditHistory struct {
	installation.Installation
	Hash    string `arg:"" help:"Hash of a link, now or at any time."`
	Account string `help:"User name or id of an account. Only its links are shown." placeholder:"NAME"`
	Clicks  bool   `help:"Show each click instead of one count a day. This reads the log from the first claim of the hash on."`
	Format  string `help:"Output format: table, json, ndjson or csv." enum:"table,json,ndjson,csv" default:"table"`
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
	Time    instant `help:"Time in RFC 3339, or a day, which means its beginning in UTC." placeholder:"TIME" required:""`
	Account string  `help:"User name or id of an account. Only its links are shown." placeholder:"NAME"`
}

// Run implements the command.
func (c *auditAt) Run(ctx context.Context, p *process) error {
	return auditor.LinkAt(ctx, c.by(p), c.Hash, c.Account, c.Time.Time)
}

// auditRestore brings a link back.
type auditRestore struct {
	operatorFlags
	Hash     string `arg:"" help:"Hash of the link, or its hash when it was deleted."`
	Revision *int64 `help:"Revision of an event in the link's stream, as audit history shows it. The link becomes as it was right after that event. Without it a deleted link is restored." placeholder:"N"`
}

// Run implements the command.
func (c *auditRestore) Run(ctx context.Context, p *process) error {
	return auditor.Restore(ctx, c.by(p), c.Hash, c.Revision)
}

// auditUndo undoes a batch.
type auditUndo struct {
	operatorFlags
	Batch string `arg:"" help:"Id of a batch, as audit history shows it."`
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
	Account string  `help:"User name or id of an account. Only its links, hashes, tags and settings are exported, without clicks." placeholder:"NAME"`
	From    instant `help:"Export events that were recorded at this time or later: RFC 3339, or a day in UTC." placeholder:"TIME"`
	To      instant `help:"Export events that were recorded before this time." placeholder:"TIME"`
	Format  string  `help:"Output format: ndjson or csv." enum:"ndjson,csv" default:"ndjson"`
	Output  string  `help:"File to write. It must not exist. By default standard output." placeholder:"FILE"`
	Resume  string  `help:"File of an interrupted export to continue. The file itself says what it exports." placeholder:"FILE"`
}

// Run implements the command.
func (c *auditExport) Run(ctx context.Context, p *process) error {
	return auditor.Export(ctx, operator(&c.Installation, p), auditor.ExportRequest{
		Account: c.Account, From: c.From.Time, To: c.To.Time, Format: c.Format, Output: c.Output,
		Resume: c.Resume,
	})
}

// auditImportCheck checks a file that export wrote.
type auditImportCheck struct {
	File string `arg:"" help:"File that audit export wrote." type:"existingfile"`
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
	return fmt.Errorf(
		"%q is neither a time such as 2026-01-31T12:00:00Z nor a day such as 2026-01-31", text,
	)
}
