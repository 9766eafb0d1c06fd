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

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// ErrStopped means that the projections ended although nobody asked them to.
var ErrStopped = errors.New("projections stopped by themselves")

// Config of Run.
type Config struct {
	DB     *readmodel.DB // prepared, see Prepare
	Store  *eventstore.Store
	Logger *slog.Logger // nil discards
	// OnCommit learns that a projection of this process has reached a commit position, and which
	// keys have changed with that; see readmodel.Channel. It must not block; may be nil.
	OnCommit func(projection string, position uint64, changed []string)
	// BatchSize is the most events of one transaction; 0 means subscription.DefaultBatchSize.
	BatchSize int
	// OnBatch learns of each batch that a projection of this process has tried to apply: how many
	// events it has, how long it took, and why it is tried again; nil: it was applied. It must not
	// block; may be nil.
	OnBatch func(projection string, events int, took time.Duration, err error)
	// of batches, with links to the appends of their events; nil: they are not traced
	Tracer   trace.Tracer
	Registry *status.Registry // shows how the projections are doing; may be nil
	// names this process, and no other; empty: host name, process id and a random part
	Owner string

	Policy projector.Policy // of events that can't be applied; empty means Stop

	Only map[generation.Key]bool // keep these generations alone; nil: all of this program's shape
	// how long a suspended owner stays in office; 0 means DefaultLease
	Lease time.Duration
}

// Run keeps the projections up to date until ctx ends, and returns when everything that it started
// has stopped. Several processes may run on one database: each generation of a projection is kept
// up to date by the one that is elected for it, the others stand by. Projections share the
// connections of DB: each holds one of the Writers while it applies a batch, and now and then one
// of the others; one more is outside the pools. Outages are waited out; an error means that a
// projection ended by itself.
func Run(ctx context.Context, projections projection.Set, cfg Config) error {
	return newElector(projections, cfg.WithDefaults()).run(ctx)
}

// WithDefaults returns the configuration with what it leaves open.
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
		cfg.Owner = processName()
	}
	if cfg.Lease == 0 {
		cfg.Lease = generation.DefaultLease
	}
	return cfg
}

// processName tells processes apart: host name and process id for people, and a random part,
// because the processes of two containers may have both in common.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s/%d-%s", host, os.Getpid(), strings.ToLower(rand.Text()[:4]))
}

func runRouter(ctx context.Context, router *message.Router) error {
	if err := router.Run(ctx); err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	if ctx.Err() == nil { // watermill calls it a success when its handlers end
		return ErrStopped
	}
	return nil
}

// reportOutcome tells of each batch, and puts its outcome on the board. That the checkpoint is
// elsewhere is no failure: the subscriber asks for it, and so learns whether another process owns
// it or an outage hid how a commit ended.
func reportOutcome(
	status *status.Entry, tell func(events int, took time.Duration, err error),
) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			began := time.Now()
			_, err := next(m)
			tell(len(subscription.BatchOf(m).Events), time.Since(began), err)
			switch {
			case errors.Is(err, generation.ErrFenced):
				status.Refuse(nil)
				m.Nack()
				return nil, nil
			case err != nil && m.Context().Err() == nil: // or else it was told to stop
				status.Refuse(err)
			}
			return nil, err
		}
	}
}

// routerLogger keeps watermill's account of its own doings out of the log, and its errors in.
func routerLogger(logger *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(logger, map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug,
	})
}
