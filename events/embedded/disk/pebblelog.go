package disk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
)

// pebbleLogger logs the errors of Pebble. Pebble expects Fatalf not to return. A library must not
// end the process, so Fatalf makes the store refuse writes instead.
type pebbleLogger struct {
	log  *slog.Logger
	fail func(cause error)
}

func (p *pebbleLogger) Infof(string, ...any) {}

func (p *pebbleLogger) Errorf(format string, args ...any) {
	p.log.LogAttrs(context.Background(), slog.LevelError, "storage error",
		slog.String("error", fmt.Sprintf(format, args...)))
}

func (p *pebbleLogger) Fatalf(format string, args ...any) {
	cause := fmt.Sprintf(format, args...)
	p.log.LogAttrs(
		context.Background(), slog.LevelError, "storage failed, the store accepts no more writes",
		slog.String("error", cause),
	)
	p.fail(errors.New(cause))
}

// listener returns a listener that logs errors of background work. Errors that a write or a read
// returns are not logged here.
func (p *pebbleLogger) listener() *pebble.EventListener {
	report := func(err error) {
		p.log.LogAttrs(context.Background(), slog.LevelError, "storage error in the background",
			slog.String("error", err.Error()))
	}
	return &pebble.EventListener{
		BackgroundError: report,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			report(fmt.Errorf("%s is corrupt: %w", info.Path, info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			p.log.LogAttrs(context.Background(), slog.LevelWarn, "writes wait for the storage",
				slog.String("reason", info.Reason))
		},
	}
}
