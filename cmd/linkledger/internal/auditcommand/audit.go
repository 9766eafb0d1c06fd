// Package auditcommand has the commands that read the log for auditors and restore links from it.
// It only defines their flags and calls other packages. It MUST NOT do more.
package auditcommand

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/auditor"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
)

// Audit groups the commands that read the log for auditors and restore links from it.
type Audit struct {
	History auditHistory `cmd:"" help:"Show all events of a hash and of the links that used it."`
	At      auditAt      `cmd:"" help:"Show where a hash led at a time, with its link's settings."`
	Export  auditExport  `cmd:"" help:"Write stored events to a file that ends with a manifest."`

	Key         auditKey         `cmd:"" help:"Make a signing key and print its public half."`
	Checkpoint  auditCheckpoint  `cmd:"" help:"Print a signed head of the log to keep elsewhere."`
	Prove       auditProve       `cmd:"" help:"${prove_command}"`
	VerifyProof auditVerifyProof `cmd:"" help:"${verify_proof_command}"`
	Verify      auditVerify      `cmd:"" help:"${verify_command}"`

	Restore auditRestore `cmd:"" help:"Undo the deletion of a link, or restore an older version."`
	Undo    auditUndo    `cmd:"" help:"Undo one API call, except for links that changed since."`

	ImportCheck auditImportCheck `cmd:"" help:"${import_check_command}"`
}

type auditHistory struct {
	installation.Installation
	Hash    string `arg:"" help:"Hash of a link, now or at any time."`
	Account string `help:"${account}" placeholder:"NAME"`
	By      string `help:"${by}" placeholder:"KEY|PERSON"`
	Clicks  bool   `help:"${clicks}"`
	Format  string `help:"Output format: ${enum}." enum:"table,json,ndjson,csv" default:"table"`
}

// Run prints all events of the hash and of the links that ever used it.
func (c *auditHistory) Run(ctx context.Context, p *command.Process) error {
	return auditor.History(ctx, command.Operator(&c.Installation, p), auditor.HistoryQuery{
		Hash: c.Hash, Account: c.Account, By: c.By, Clicks: c.Clicks, Format: c.Format,
	})
}

type auditAt struct {
	command.OperatorFlags
	Hash    string  `arg:"" help:"Hash of a link at that time."`
	Time    instant `help:"${at_time}" placeholder:"TIME" required:""`
	Account string  `help:"${account}" placeholder:"NAME"`
}

// Run prints where the hash led at the time, and the settings of its link.
func (c *auditAt) Run(ctx context.Context, p *command.Process) error {
	return auditor.LinkAt(ctx, c.By(p), c.Hash, c.Account, c.Time.Time)
}

type auditRestore struct {
	command.OperatorFlags
	Hash     string `arg:"" help:"Hash of the link, or the last hash of a deleted link."`
	Revision *int64 `help:"${revision}" placeholder:"N"`
	BaseURL  string `help:"${link_base}" placeholder:"URL" validate:"omitempty,base_url"`
}

// Run undoes the deletion of the link, or returns it to its state after a revision.
func (c *auditRestore) Run(ctx context.Context, p *command.Process) error {
	return auditor.Restore(ctx, c.By(p), c.Hash, c.Revision, c.BaseURL)
}

// auditUndo undoes a batch.
type auditUndo struct {
	command.OperatorFlags
	Batch   string `arg:"" help:"Id of a batch, as audit history shows it."`
	BaseURL string `help:"${link_base}" placeholder:"URL" validate:"omitempty,base_url"`
}

// Run undoes the changes of one API call, except for links that were changed since.
func (c *auditUndo) Run(ctx context.Context, p *command.Process) error {
	batch, err := uuid.Parse(c.Batch)
	if err != nil {
		return usage.Errorf("the id of a batch is a UUID, not %q", c.Batch)
	}
	return auditor.Undo(ctx, c.By(p), batch, c.BaseURL)
}

// auditExport writes the stored events to a file.
type auditExport struct {
	installation.Installation
	Account string  `help:"${export_account}" placeholder:"NAME"`
	From    instant `help:"${export_from}" placeholder:"TIME"`
	To      instant `help:"Export events that were recorded before this time." placeholder:"TIME"`
	Format  string  `help:"Output format: ${enum}." enum:"ndjson,csv" default:"ndjson"`
	Output  string  `help:"New file to write. By default standard output." placeholder:"FILE"`
	Resume  string  `help:"${export_resume}" placeholder:"FILE"`
}

// Run writes the stored events to the output, which ends with a manifest.
func (c *auditExport) Run(ctx context.Context, p *command.Process) error {
	return auditor.Export(ctx, command.Operator(&c.Installation, p), auditor.ExportRequest{
		Account: c.Account, From: c.From.Time, To: c.To.Time, Format: c.Format, Output: c.Output,
		Resume: c.Resume,
	})
}

// auditImportCheck checks a file that export wrote.
type auditImportCheck struct {
	File string `arg:"" help:"File that audit export wrote." type:"existingfile"`
}

// Run fails if the file differs from its manifest.
func (c *auditImportCheck) Run(p *command.Process) error {
	return auditor.CheckExport(c.File, p.Stdout)
}

// instant is a time on the command line: RFC 3339, or a day, which means its beginning in UTC.
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
