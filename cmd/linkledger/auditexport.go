package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"linkledger/events/archive"
	"linkledger/events/eventstore"
)

// auditExport writes the stored events to a file.
type auditExport struct {
	place
	Account string  `help:"User name or id of an account. Only its links, hashes, tags and settings are exported, without clicks." placeholder:"NAME"`
	From    instant `help:"Export events that were recorded at this time or later: RFC 3339, or a day in UTC." placeholder:"TIME"`
	To      instant `help:"Export events that were recorded before this time." placeholder:"TIME"`
	Format  string  `help:"Output format: ndjson or csv." enum:"ndjson,csv" default:"ndjson"`
	Output  string  `help:"File to write. It must not exist. By default standard output." placeholder:"FILE"`
	Resume  string  `help:"File of an interrupted export to continue. The file itself says what it exports." placeholder:"FILE"`
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

// Run implements the command.
func (c *auditExport) Run(ctx context.Context, p *process) error {
	if c.Resume != "" && (c.Output != "" || c.Account != "" || !c.From.IsZero() || !c.To.IsZero()) {
		return usage("what --resume goes on with stands in its file: leave out --output, --account, --from and --to")
	}
	if !c.To.IsZero() && !c.From.Before(c.To.Time) {
		return usage("there is nothing between --from and --to: --to must be later")
	}
	if now := time.Now(); c.From.After(now) {
		return usage("--from lies in the future, it is %s", now.UTC().Format(time.RFC3339))
	}
	return c.auditing(ctx, p, func(ctx context.Context, store *eventstore.Store) error {
		out, file, err := c.open(p)
		if err != nil {
			return err
		}
		err = c.export(ctx, p, store, out, file)
		if file != nil {
			err = errors.Join(err, file.Sync(), file.Close())
		}
		return err
	})
}

// open returns where to write; file is nil for standard output.
func (c *auditExport) open(p *process) (out io.Writer, file *os.File, err error) {
	switch {
	case c.Resume != "":
		file, err = os.OpenFile(c.Resume, os.O_RDWR, 0)
	case c.Output != "":
		file, err = os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	default:
		return p.stdout, nil, nil
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, nil, usage("%s exists: choose another --output, or go on with it by --resume", c.Output)
	}
	if err != nil {
		return nil, nil, usageError{err}
	}
	return file, file, nil
}

func (c *auditExport) export(ctx context.Context, p *process, store *eventstore.Store, out io.Writer, file *os.File) error {
	export, err := c.begin(ctx, store, out, file)
	if err != nil {
		return err
	}
	show, end := logProgress(p)
	sum, err := export.Run(ctx, func(at, head archive.Position, events int64) {
		show(fmt.Sprintf("%d events", events), at.Commit, head.Commit)
	})
	end(err == nil)
	if err != nil && ctx.Err() != nil && file != nil {
		return usage("interrupted: go on with linkledger audit export --resume %s", file.Name())
	}
	if err != nil || file == nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%d events, positions %d to %d, root hash %s\n", sum.Count, sum.First.Commit, sum.Last.Commit, sum.Root)
	return err
}

func (c *auditExport) begin(ctx context.Context, store *eventstore.Store, out io.Writer, file *os.File) (*archive.Export, error) {
	if c.Resume != "" {
		export, err := archive.Resume(store, file)
		if errors.Is(err, archive.ErrComplete) || errors.Is(err, archive.ErrDamaged) {
			return nil, usage("%s: %w", c.Resume, err)
		}
		return export, err
	}
	account, err := accountNamed(ctx, c.accounts(store), c.Account)
	if err != nil {
		return nil, err
	}
	return archive.Begin(ctx, store, out, archive.Header{
		Format: archive.Format(c.Format), Account: account, From: c.From.Time, To: c.To.Time,
	})
}

// auditImportCheck checks a file that export wrote.
type auditImportCheck struct {
	File string `arg:"" help:"File that audit export wrote." type:"existingfile"`
}

// Run implements the command.
func (c *auditImportCheck) Run(p *process) error {
	file, err := os.Open(c.File)
	if err != nil {
		return usageError{err}
	}
	defer func() { _ = file.Close() }() // it was only read
	header, sum, err := archive.Check(file)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	_, err = fmt.Fprintf(p.stdout, "%s: %d events of the log up to position %d, positions %d to %d, root hash %s: as its manifest says\n",
		c.File, sum.Count, header.Head.Commit, sum.First.Commit, sum.Last.Commit, sum.Root)
	return err
}
