package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/logcopy"
)

// copyReports is how often a copy tells the log how far it is.
const copyReports = 10 * time.Second

// eventstoreCopy moves an installation to another event store.
type eventstoreCopy struct {
	From connection `help:"Event store to read from." placeholder:"esdb://HOST:2113?tls=false" validate:"required,startswith=esdb,encoded"`
	To   connection `help:"Event store to copy into: empty, or with what an earlier copy has brought." placeholder:"esdb://HOST:2113?tls=false" validate:"required,startswith=esdb,encoded"`
	JSON bool       `help:"Print JSON."`
}

// copiedView is a finished copy as it is printed.
type copiedView struct {
	Events int64  `json:"events"`
	New    int64  `json:"new"`
	Chain  string `json:"chain"`
}

// Run implements the command.
func (c *eventstoreCopy) Run(ctx context.Context, p *process) error {
	if err := validate(c); err != nil {
		return err
	}
	from, err := eventstore.Open(eventstore.Config{URL: string(c.From), Logger: p.Logger})
	if err != nil {
		return usageError(err)
	}
	defer from.Close()
	to, err := eventstore.Open(eventstore.Config{URL: string(c.To), Logger: p.Logger})
	if err != nil {
		return usageError(err)
	}
	defer to.Close()
	if err := c.checkTarget(ctx, from, to); err != nil {
		return err
	}
	copied, err := c.copy(ctx, p, from, to)
	switch {
	case err != nil && ctx.Err() != nil:
		return usage("interrupted: the same command goes on")
	case err != nil:
		return err
	case c.JSON:
		return printJSON(p.Stdout, copiedView(copied))
	}
	_, err = fmt.Fprintf(p.Stdout, "%d events, %d of them new, are the same in both: hash chain %s\n", copied.Events, copied.New, copied.Chain)
	return err
}

// checkTarget refuses a copy into the same log, and event stores that do not answer.
func (c *eventstoreCopy) checkTarget(ctx context.Context, from, to *eventstore.Store) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	source, err := from.LogID(ctx)
	if err != nil {
		return usage("--from (%s): %w", c.From, err)
	}
	target, err := to.LogID(ctx)
	if err != nil {
		return usage("--to (%s): %w", c.To, err)
	}
	if source == target {
		return usage("--from and --to name the same log, or empty ones")
	}
	return nil
}

func (c *eventstoreCopy) copy(ctx context.Context, p *process, from, to *eventstore.Store) (copied logcopy.Result, err error) {
	show, end := logProgress(p.Stderr)
	defer func() { end(err == nil) }()
	var stage logcopy.Stage
	var began, told time.Time
	return logcopy.Copy(ctx, from, to, func(at logcopy.Progress) {
		now := time.Now()
		if at.Stage != stage {
			stage, began, told = at.Stage, now, now
		}
		rate := float64(at.Events) / max(now.Sub(began).Seconds(), 1)
		show(fmt.Sprintf("%s, %d events, %.0f/s", stage, at.Events, rate), at.At.Commit, at.Head.Commit)
		if now.Sub(told) > copyReports && !isTerminal(p.Stderr) {
			told = now
			p.Logger.InfoContext(ctx, "copying the log", slog.String("stage", string(stage)), slog.Int64("events", at.Events), slog.Float64("per_second", rate),
				slog.Uint64("position", at.At.Commit), slog.Uint64("head", at.Head.Commit))
		}
	})
}
