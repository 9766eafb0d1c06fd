package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// ErrStopped means that a projection ended before its context ended.
var ErrStopped = errors.New("projections stopped by themselves")

// Config configures Run.
type Config struct {
	DB     *readmodel.DB // prepared by generation.Prepare
	Store  *eventstore.Store
	Logger *slog.Logger // nil discards the log
	// OnCommit is called after a projection of this process has reached a commit position of the
	// log. changed lists the changed keys, see readmodel.Channel. OnCommit MUST NOT block. It may
	// be nil. In the service it is progress.Waiter.Committed.
	OnCommit func(projection string, position uint64, changed []string)
	// BatchSize is the maximum number of events in one transaction; 0 means
	// subscription.DefaultBatchSize.
	BatchSize int
	// OnBatch is called after each attempt of a projection of this process to apply a batch. events
	// is the number of events in the batch, and took is the time of the attempt. If err is not nil,
	// the batch is tried again. OnBatch MUST NOT block. It may be nil.
	OnBatch func(projection string, events int, took time.Duration, err error)
	// Tracer traces batches, and links each trace to the traces of the appends of its events. If it
	// is nil, batches are not traced.
	Tracer   trace.Tracer
	Registry *status.Registry // receives the state of the projections; may be nil
	// Owner is the unique name of this process; empty: host name, process id and a random part.
	Owner string

	// MaxParked is how many streams of a generation may have events that are set aside. 0 means
	// projector.DefaultMaxParked, and a negative number means none.
	MaxParked int
	// RetryInterval is how often the events that are set aside are tried again. 0 means
	// DefaultRetryInterval.
	RetryInterval time.Duration

	// Only has the generations that this process may own. If it is nil, the process may own all
	// generations of this program's shape.
	Only map[generation.Key]bool
	// Lease is how long a suspended owner keeps its generation; 0 means DefaultLease.
	Lease time.Duration
}

// Run keeps the projections up to date until ctx ends, and returns when everything that it started
// has ended. Several processes may run on one database. Each generation is kept up to date by the
// process that is elected for it, and the other processes stand by.
//
// A projection holds one connection of DB.Writers while it applies a batch, and sometimes one of
// DB.Pool. The elector uses one more connection outside the pools. Run waits for the end of
// outages. An error means that a projection ended by itself.
func Run(ctx context.Context, projections projection.Set, cfg Config) error {
	return newElector(projections, cfg.WithDefaults()).run(ctx)
}

// WithDefaults returns the configuration with defaults for the fields that are not set.
func (cfg Config) WithDefaults() Config {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.OnCommit == nil {
		cfg.OnCommit = func(string, uint64, []string) {}
	}
	if cfg.OnBatch == nil {
		cfg.OnBatch = func(string, int, time.Duration, error) {}
	}
	if cfg.Registry == nil {
		cfg.Registry = &status.Registry{}
	}
	if cfg.Owner == "" {
		cfg.Owner = ProcessName()
	}
	if cfg.Lease == 0 {
		cfg.Lease = generation.DefaultLease
	}
	if cfg.RetryInterval == 0 {
		cfg.RetryInterval = DefaultRetryInterval
	}
	return cfg
}

// ProcessName returns a unique name for this process. Operators recognize the host name and the
// process id. The random part is necessary because two containers may have the same host name and
// the same process id.
func ProcessName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s/%d-%s", host, os.Getpid(), strings.ToLower(rand.Text()[:4]))
}
