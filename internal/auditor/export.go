package auditor

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
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
)

// ExportRequest says what to export, and where to.
type ExportRequest struct {
	// Account is the user name or id of an account. Only its links, hashes, tags and settings are
	// exported. If Account is empty, all events are exported.
	Account string
	From    time.Time // time of the first event; zero for the beginning
	To      time.Time // time after the last event; zero for the end
	Format  string    // ndjson or csv
	Output  string    // path of a new file; empty for standard output
	Resume  string    // path of the file of an interrupted export; empty for none
}

// Export writes the stored events to a file that ends with a manifest.
func Export(ctx context.Context, o installation.Operator, r ExportRequest) error {
	selects := r.Output != "" || r.Account != "" || !r.From.IsZero() || !r.To.IsZero()
	if r.Resume != "" && selects {
		return usage.Errorf("the file of --resume has the settings of its export: leave out " +
			"--output, --account, --from and --to")
	}
	if !r.To.IsZero() && !r.From.Before(r.To) {
		return usage.Errorf("there is nothing between --from and --to: --to must be later")
	}
	if now := time.Now(); r.From.After(now) {
		return usage.Errorf(
			"--from is in the future: the time is %s", now.UTC().Format(time.RFC3339),
		)
	}
	return o.WithLog(ctx, func(ctx context.Context, store *eventstore.Store) error {
		out, file, err := r.open(o.Stdout)
		if err != nil {
			return err
		}
		err = r.export(ctx, o, store, out, file)
		if file != nil {
			err = errors.Join(err, file.Sync(), file.Close())
		}
		return err
	})
}

// open returns the writer of the export, which is a file or standard output. For standard output,
// file is nil.
func (r ExportRequest) open(stdout io.Writer) (out io.Writer, file *os.File, err error) {
	switch {
	case r.Resume != "":
		file, err = os.OpenFile(r.Resume, os.O_RDWR, 0)
	case r.Output != "":
		file, err = os.OpenFile(r.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	default:
		return console.Exact(stdout), nil, nil
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, nil, usage.Errorf(
			"%s exists: choose another --output, or continue it with --resume", r.Output,
		)
	}
	if err != nil {
		return nil, nil, usage.Wrap(err)
	}
	return file, file, nil
}

func (r ExportRequest) export(
	ctx context.Context, o installation.Operator, store *eventstore.Store, out io.Writer,
	file *os.File,
) error {
	export, err := r.begin(ctx, o, store, out, file)
	if err != nil {
		return err
	}
	show, end := console.Progress(o.Stderr)
	sum, err := export.Run(ctx, func(at, head archive.Position, events int64) {
		show(fmt.Sprintf("%d events", events), at.Commit, head.Commit)
	})
	end(err == nil)
	if err != nil && ctx.Err() != nil && file != nil {
		return usage.Errorf(
			"interrupted: continue with linkledger audit export --resume %s", file.Name(),
		)
	}
	if err != nil || file == nil {
		return err
	}
	err = console.Printf(
		o.Stdout, "%d events, positions %d to %d, root hash %s\n", sum.Count, sum.First.Commit,
		sum.Last.Commit, sum.Root,
	)
	return err
}

// begin starts a new export, or continues an interrupted one.
func (r ExportRequest) begin(
	ctx context.Context, o installation.Operator, store *eventstore.Store, out io.Writer,
	file *os.File,
) (*archive.Export, error) {
	if r.Resume != "" {
		export, err := archive.Resume(store, file)
		if errors.Is(err, archive.ErrComplete) || errors.Is(err, archive.ErrDamaged) {
			return nil, usage.Errorf("%s: %w", r.Resume, err)
		}
		return export, err
	}
	account, err := accountNamed(ctx, o.Accounts(store), r.Account)
	if err != nil {
		return nil, err
	}
	return archive.Begin(ctx, store, out, archive.Header{
		Format: archive.Format(r.Format), Account: account, From: r.From, To: r.To,
	})
}

// CheckExport checks a file that export wrote against its manifest.
func CheckExport(name string, stdout io.Writer) error {
	file, err := os.Open(name)
	if err != nil {
		return usage.Wrap(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	header, sum, err := archive.Check(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	err = console.Printf(stdout, "%s: %d events of the log up to position %d, positions %d to %d, "+
		"root hash %s: as its manifest says\n",
		name, sum.Count, header.Head.Commit, sum.First.Commit, sum.Last.Commit, sum.Root)
	return err
}
