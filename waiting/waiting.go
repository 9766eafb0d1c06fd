// Package waiting reports what a call waits for. Code that may wait for a dependency names the
// dependency with During. The caller chooses with WithReport who receives the reports. A Dependency
// ends the waits for a dependency that does not answer.
package waiting

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// Patience is how long a wait takes before it is reported.
	Patience = 5 * time.Second
	// longestPause is the longest pause between two reports of the same wait.
	longestPause = time.Minute
)

// ErrNoAnswer is the reason for a wait if no other reason is known.
var ErrNoAnswer = errors.New("no answer yet")

// Report receives what a call waits for, and why. It is called repeatedly during the wait. After a
// reported wait has ended, it is called with a nil why. A Report MUST NOT block.
type Report func(ctx context.Context, what string, why error)

type reportKey struct{}

// WithReport returns a context whose calls report their waits to report.
func WithReport(ctx context.Context, report Report) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

// LogTo returns a Report that writes to a log.
func LogTo(logger *slog.Logger) Report {
	return func(ctx context.Context, what string, why error) {
		name := slog.String("dependency", what)
		if why == nil {
			logger.InfoContext(ctx, "the dependency answers", name)
			return
		}
		logger.WarnContext(
			ctx, "waiting for what this process depends on", name, slog.Any("error", why),
		)
	}
}

// Say reports at once what a call waits for, and why. A nil why means that the wait has ended.
func Say(ctx context.Context, what string, why error) {
	if report, ok := ctx.Value(reportKey{}).(Report); ok {
		report(ctx, what, why)
	}
}

// During calls do. If do takes longer than Patience, During reports that the call waits for the
// dependency what. why returns the reason. If why is nil or returns nil, the reason is ErrNoAnswer.
// During returns the error of do.
func During(
	ctx context.Context, what string, why, do func(context.Context) error,
) error {
	report, ok := ctx.Value(reportKey{}).(Report)
	if !ok {
		return do(ctx)
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	during, end := context.WithCancel(ctx)
	defer end()
	watching.Go(func() { watch(during, what, why, report) })
	return do(ctx)
}

// watch reports a wait until ctx ends.
func watch(ctx context.Context, what string, why func(context.Context) error, report Report) {
	said := false
	for pause := Patience; ; pause = min(2*pause, longestPause) {
		select {
		case <-ctx.Done():
			if said {
				report(context.WithoutCancel(ctx), what, nil)
			}
			return
		case <-time.After(pause):
		}
		reason := reasonOf(ctx, why)
		if ctx.Err() == nil {
			report(ctx, what, reason)
			said = true
		}
	}
}

func reasonOf(ctx context.Context, why func(context.Context) error) error {
	if why == nil {
		return ErrNoAnswer
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := why(ctx); err != nil {
		return err
	}
	return ErrNoAnswer
}
