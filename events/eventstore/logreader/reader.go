// Package logreader reads and follows the log of all streams, and finds out whether a log is the
// one that its reader knows. It appends nothing, and reads no stream by its name.
package logreader

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/pages"
	"linkledger/events/eventstore/wire"
	"linkledger/waiting"
)

// Config configures a Reader. All fields are required.
type Config struct {
	Node  node.Node    // for reads that take long, each over its own connection
	Pages *pages.Pages // for all other reads; when it is closed, the long reads end too
	// Store knows whether the event store answers.
	Store *waiting.Dependency
	// AttemptTimeout bounds the wait for each answer.
	AttemptTimeout time.Duration
	// OnHead is called after each call of Head with its duration and error. It MUST NOT block.
	OnHead func(took time.Duration, err error)
	Logger *slog.Logger
}

// Reader reads the log. It is safe for concurrent use.
type Reader struct{ cfg Config }

// New returns a Reader.
func New(cfg Config) *Reader { return &Reader{cfg} }

// Head returns the position of the last event of the log, or the zero position if the log is empty.
func (l *Reader) Head(ctx context.Context) (eventlog.Position, error) {
	began := time.Now()
	last, err := l.cfg.Pages.Read(ctx, wire.LastOfLog())
	l.cfg.OnHead(time.Since(began), err)
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("head of the log: %w", err)
	}
	if len(last) == 0 {
		return eventlog.Position{}, nil
	}
	return last[0].Position, nil
}
