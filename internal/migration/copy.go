package migration

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/logcopy"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
)

// reportInterval is how often a copy logs its progress.
const reportInterval = 10 * time.Second

// printedCopy is the printed form of a finished copy.
type printedCopy struct {
	Events int64  `json:"events"`
	New    int64  `json:"new"`
	Chain  string `json:"chain"`
}

// Wanted says what to copy.
type Wanted struct {
	From, To secret.Connection
	Check    bool // compare both logs, and copy nothing
	JSON     bool // print JSON
}

// Copy copies the log of an event store into another one, or continues an interrupted copy. It
// prints the hash chain of both logs.
func Copy(ctx context.Context, out console.Console, w Wanted) error {
	source, target := w.From, w.To
	from, err := eventstore.Open(eventstore.Config{URL: string(source), Logger: out.Logger})
	if err != nil {
		return usage.Wrap(err)
	}
	defer from.Close()
	to, err := eventstore.Open(eventstore.Config{URL: string(target), Logger: out.Logger})
	if err != nil {
		return usage.Wrap(err)
	}
	defer to.Close()
	if err := checkTarget(ctx, source, target, from, to); err != nil {
		return err
	}
	copyOrCheck := logcopy.Copy
	if w.Check {
		copyOrCheck = logcopy.Check
	}
	copied, err := copyLog(ctx, out, from, to, copyOrCheck)
	switch {
	case err != nil && ctx.Err() != nil && w.Check:
		return usage.Errorf("interrupted: nothing was changed, and nothing is known of the rest")
	case err != nil && ctx.Err() != nil:
		return usage.Errorf("interrupted: the same command continues")
	case err != nil:
		return err
	case w.JSON:
		return console.JSON(out.Stdout, printedCopy(copied))
	}
	err = console.Printf(
		out.Stdout, "%d events, %d of them new, are the same in both: hash chain %s\n",
		copied.Events, copied.New, copied.Chain,
	)
	return err
}

// checkTarget refuses a copy of a log into itself, and event stores that do not answer.
func checkTarget(
	ctx context.Context, source, target secret.Connection, from, to *eventstore.Store,
) error {
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	sourceID, err := from.LogID(ctx)
	if err != nil {
		return usage.Errorf("--from (%s): %w", source, err)
	}
	targetID, err := to.LogID(ctx)
	if err != nil {
		return usage.Errorf("--to (%s): %w", target, err)
	}
	if sourceID == targetID {
		return usage.Errorf("--from and --to name the same log, or empty ones")
	}
	return nil
}

func copyLog(
	ctx context.Context, out console.Console, from, to *eventstore.Store,
	run func(
		context.Context, *eventstore.Store, *eventstore.Store, func(logcopy.Progress),
	) (logcopy.Result, error),
) (copied logcopy.Result, err error) {
	show, end := console.Progress(out.Stderr)
	defer func() { end(err == nil) }()
	var stage logcopy.Stage
	var began, reported time.Time
	return run(ctx, from, to, func(at logcopy.Progress) {
		now := time.Now()
		if at.Stage != stage {
			stage, began, reported = at.Stage, now, now
		}
		rate := float64(at.Events) / max(now.Sub(began).Seconds(), 1)
		show(
			fmt.Sprintf("%s, %d events, %.0f/s", stage, at.Events, rate), at.At.Commit,
			at.Head.Commit,
		)
		if now.Sub(reported) > reportInterval && !console.IsTerminal(out.Stderr) {
			reported = now
			out.Logger.InfoContext(ctx, "copying the log", slog.String("stage", string(stage)),
				slog.Int64("events", at.Events), slog.Float64("per_second", rate),
				slog.Uint64("position", at.At.Commit), slog.Uint64("head", at.Head.Commit))
		}
	})
}
