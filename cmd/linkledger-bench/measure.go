package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"linkledger/cmd/linkledger-bench/internal/control"
	"linkledger/cmd/linkledger-bench/internal/installation"
	"linkledger/cmd/linkledger-bench/internal/load"
	"linkledger/cmd/linkledger-bench/internal/report"
)

// measureCommand measures all parts. The load is the same on every machine.
type measureCommand struct {
	Program  string `help:"The linkledger to measure." default:"./linkledger" type:"path"`
	Output   string `help:"File for the report." default:"bench.json"`
	Results  string `help:"${results}" placeholder:"FILE"`
	Compare  string `help:"An older report, to show what has changed since." placeholder:"FILE"`
	Folder   string `help:"${folder}" default:"." type:"path"`
	Runs     int    `help:"Number of runs. The report has their medians." default:"3"`
	Turns    int    `help:"Turns of the program and its control per run." default:"2"`
	Links    int    `help:"Links of the account that is listed and rebuilt." default:"1000000"`
	Accounts int    `help:"${accounts}" default:"1"`
	Keys     int    `help:"API keys of each of these accounts." default:"1"`
	Former   string `help:"${former}" type:"path"`
	// FormerKeys is Keys for the former program.
	FormerKeys int           `help:"API keys of each account of the former program." default:"1"`
	Turn       time.Duration `help:"Length of a turn." default:"6s"`
	Only       []string      `help:"Parts to measure: ${enum}." enum:"${parts}" default:"${parts}"`
	Short      bool          `help:"${short}"`
}

// redirectedLinks is the number of links in the measurement of redirects over many links.
const redirectedLinks = 10_000

// bench is what the measurements share.
type bench struct {
	load.Plan
	program    string // path
	folder     string // of all data
	size       installation.Size
	redirected int
	only       []string // parts
	outage     time.Duration
	control    *control.Control
	progress   io.Writer

	// The former program takes the place of the control of creates and redirects.
	formerProgram string // path; empty: none
	formerKeys    int
	former        *installation.Service // nil: none
}

// Run measures the program beside its control and writes the report.
func (c *measureCommand) Run(ctx context.Context, p *process) (err error) {
	if min(c.Runs, c.Turns, c.Accounts, c.Keys) < 1 || c.Links < 2 {
		return errors.New("--runs, --turns, --accounts and --keys must be at least 1, --links " +
			"at least 2")
	}
	var before *report.Report
	if c.Compare != "" { // first, because a wrong name would waste the measurement
		if before, err = report.Read(c.Compare); err != nil {
			return err
		}
	}
	b := bench{
		Plan:   load.Plan{Runs: c.Runs, Turns: c.Turns, Turn: c.Turn},
		outage: 20 * time.Second, program: c.Program, redirected: redirectedLinks,
		size:          installation.Size{Links: c.Links, Accounts: c.Accounts, Keys: c.Keys},
		formerProgram: c.Former, formerKeys: c.FormerKeys, only: c.Only, progress: p.stderr,
	}
	if c.Short {
		b.Plan = load.Plan{Runs: 1, Turns: 1, Turn: 200 * time.Millisecond}
		b.size.Links, b.redirected, b.outage = 1000, 100, 200*time.Millisecond
	}
	if b.folder, err = dataFolder(c.Folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	after := report.Report{Time: time.Now().UTC().Truncate(time.Second), Runs: b.Runs}
	if after.Machine, err = report.Describe(b.folder); err != nil {
		return err
	}
	if err := b.measure(ctx, &after); err != nil {
		return err
	}
	if err := after.Save(c.Output); err != nil {
		return err
	}
	if c.Results != "" && !c.Short && len(c.Only) == len(parts) {
		if err := after.WriteResults(c.Results); err != nil {
			return err
		}
	}
	if err := after.Print(p.stdout); err != nil || before == nil {
		return err
	}
	return report.PrintChanges(p.stdout, before, &after)
}

// dataFolder creates a folder for the data. PostgreSQL's user can enter it.
func dataFolder(within string) (string, error) {
	folder, err := os.MkdirTemp(within, "linkledger-bench-")
	if err != nil {
		return "", fmt.Errorf("folder for the data: %w; choose another with --folder", err)
	}
	//nolint:gosec // the folders within it protect their own secrets
	return folder, os.Chmod(folder, 0o755)
}

// parts are the names of what can be measured.
var parts = []string{"appends", "rebuild", "lists", "redirects", "creates", "outage"}

// measure runs the measurements and adds their results to the report.
func (b *bench) measure(ctx context.Context, r *report.Report) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if b.control, err = control.Start(ctx, self); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.control.Stop()) }()
	if slices.Contains(b.only, "appends") {
		b.announce("appends")
		appended, err := b.appends(ctx)
		if err != nil {
			return err
		}
		r.Results = append(r.Results, appended)
	}
	b.announce("a log of %d links, and the read models of it", b.size.Links)
	s, err := installation.Start(ctx, b.program, b.path("data"), b.size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if b.formerProgram != "" {
		size := b.size
		size.Keys = b.formerKeys
		b.former, err = installation.Start(ctx, b.formerProgram, b.path("former"), size)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.former.Stop()) }()
	}
	if r.IdleMB, err = s.Resident(); err != nil {
		return err
	}
	if r.Machine.Program, r.Machine.PostgreSQL, err = s.Versions(ctx); err != nil {
		return err
	}
	// The rebuild comes first, so that it does not rebuild links that other measurements create.
	// After it, PostgreSQL also has statistics for the tables.
	for _, part := range []struct {
		name    string
		measure func(context.Context, *installation.Service) ([]report.Result, error)
	}{
		{"rebuild", b.rebuild},
		{"lists", b.lists},
		{"redirects", b.redirects},
		{"creates", b.creates},
		{"outage", b.outages},
	} {
		if !slices.Contains(b.only, part.name) {
			continue
		}
		b.announce("%s", part.name)
		results, err := part.measure(ctx, s)
		if err != nil {
			return err
		}
		r.Results = append(r.Results, results...)
	}
	return nil
}

// announce prints what is measured next.
func (b *bench) announce(format string, args ...any) {
	// Progress output is optional.
	_, _ = fmt.Fprintf(
		b.progress, "%s  "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...,
	)
}

func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }
