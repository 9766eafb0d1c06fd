package disk

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/condition"
)

// pebbleLogger logs the errors of Pebble. Pebble expects Fatalf not to return. A library must not
// end the process, so Fatalf makes the store refuse writes instead.
type pebbleLogger struct {
	log  *slog.Logger
	fail func(cause error)
	// background is the condition that flushes or compactions fail. Pebble repeats a failed one at
	// once, so not every failure is logged.
	background *condition.Log
}

func newPebbleLogger(log *slog.Logger, fail func(cause error)) *pebbleLogger {
	return &pebbleLogger{log: log, fail: fail, background: condition.New(
		log, "storage error in the background", "storage works again in the background",
	)}
}

func (p *pebbleLogger) Infof(string, ...any) {}

func (p *pebbleLogger) Errorf(format string, args ...any) {
	p.log.LogAttrs(context.Background(), slog.LevelError, "storage error",
		slog.String("error", fmt.Sprintf(format, args...)))
}

func (p *pebbleLogger) Fatalf(format string, args ...any) {
	p.fail(fmt.Errorf(format, args...))
}

// listener returns a listener that logs errors of background work. Errors that a write or a read
// returns are not logged here.
func (p *pebbleLogger) listener() *pebble.EventListener {
	report := func(err error) { p.background.Report(context.Background(), err) }
	// If a flush or compaction fails, Pebble also calls BackgroundError with its error. So ended
	// reports only successes.
	ended := func(err error) {
		if err == nil {
			report(nil)
		}
	}
	return &pebble.EventListener{
		BackgroundError: report,
		FlushEnd:        func(info pebble.FlushInfo) { ended(info.Err) },
		CompactionEnd:   func(info pebble.CompactionInfo) { ended(info.Err) },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			report(fmt.Errorf("%s is corrupt: %w", info.Path, info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			p.log.LogAttrs(context.Background(), slog.LevelWarn, "writes wait for the storage",
				slog.String("reason", info.Reason))
		},
	}
}
