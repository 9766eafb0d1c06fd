package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// Config of Run.
type Config struct {
	DB     *readmodel.DB // prepared, see Prepare
	Store  *eventstore.Store
	Logger *slog.Logger // nil discards
	// OnChange learns which keys a projection of this process has changed, right before OnCommit does; see
	// readmodel.Channel. It must not block; may be nil.
	OnChange func(projection string, keys []string)
	// OnCommit learns that a projection of this process has reached a commit position. It must not block; may be nil.
	OnCommit func(projection string, position uint64)
	// BatchSize is the most events of one transaction; 0 means eventstore.DefaultBatchSize.
	BatchSize int
	Board     *Board // shows how the projections are doing; may be nil

	only string // run this projection alone; all if empty
}

// Run keeps all projections up to date until ctx ends, and returns when everything that it started has stopped. It
// needs up to one connection of the database per projection. Several processes may run on one database: each batch is
// applied by one of them. Outages are waited out; an error means that the projections could not start or ended by
// themselves.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.OnCommit == nil {
		cfg.OnCommit = func(string, uint64) {}
	}
	if cfg.OnChange == nil {
		cfg.OnChange = func(string, []string) {}
	}
	if cfg.Board == nil {
		cfg.Board = &Board{}
	}
	router, err := message.NewRouter(message.RouterConfig{}, quiet(cfg.Logger))
	if err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	for _, p := range all() {
		if cfg.only != "" && p.name != cfg.only {
			continue
		}
		subscriber := addProjector(router, cfg, p)
		defer func() { _ = subscriber.Close() }() // never fails
	}
	return runRouter(ctx, router)
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

func addProjector(router *message.Router, cfg Config, p projection) *eventstore.Subscriber {
	status := cfg.Board.line(p.name)
	projector := &projector{projection: p, db: cfg.DB.DB, status: status, onChange: cfg.OnChange, onCommit: cfg.OnCommit}
	subscriber := eventstore.NewSubscriber(cfg.Store, eventstore.SubscriberConfig{
		Prefixes:   p.prefixes,
		Checkpoint: projector.checkpoint,
		BatchSize:  cfg.BatchSize,
		Logger:     cfg.Logger,
		OnError:    status.interrupt,
	})
	handler := router.AddConsumerHandler(p.name, p.name, subscriber, projector.handle)
	handler.AddMiddleware(report(status), middleware.Recoverer)
	return subscriber
}

// report puts the outcome of each batch on the board. That another process was first is no failure: the subscriber goes
// on from where that one has got.
func report(status *statusLine) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			_, err := next(m)
			switch {
			case errors.Is(err, ErrFenced):
				status.refuse(nil)
				m.Nack()
				return nil, nil
			case err != nil && m.Context().Err() == nil: // or else it was told to stop
				status.refuse(err)
			}
			return nil, err
		}
	}
}

// quiet keeps watermill's account of its own doings out of the log, and its errors in.
func quiet(logger *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(logger, map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug,
	})
}
