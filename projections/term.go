package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"linkledger/events/eventstore"
)

// term is the time in which this process owns a generation.
type term struct {
	cfg       Config
	projector *projector
}

func newTerm(cfg Config, p projection, at checkpoint, status *statusLine) *term {
	return &term{cfg: cfg, projector: &projector{
		projection: p, db: cfg.DB.DB, status: status,
		onChange: cfg.OnChange, onCommit: cfg.OnCommit, lease: cfg.lease, at: at,
	}}
}

// run keeps the generation up to date until ctx ends or another process owns it. An error means that it ended by
// itself. The router is the term's own: watermill ends a router with its last handler, and here that is the point.
func (t *term) run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	p := t.projector
	p.lose = end
	p.status.own(true)
	defer p.status.own(false)
	t.cfg.Logger.InfoContext(ctx, "projection taken over", t.attributes()...)
	router, err := message.NewRouter(message.RouterConfig{}, quiet(t.cfg.Logger))
	if err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	subscriber := eventstore.NewSubscriber(t.cfg.Store, eventstore.SubscriberConfig{
		Prefixes:   p.prefixes,
		Checkpoint: p.checkpoint,
		BatchSize:  t.cfg.BatchSize,
		Logger:     t.cfg.Logger,
		OnError:    p.status.interrupt,
	})
	handler := router.AddConsumerHandler(p.name, p.name, subscriber, p.handle)
	handler.AddMiddleware(report(p.status), middleware.Recoverer)

	var renewing sync.WaitGroup
	renewing.Go(func() { t.renew(ctx, end) })
	err = runRouter(ctx, router)
	_ = subscriber.Close() // never fails
	end()
	renewing.Wait()
	t.release(ctx)
	return err
}

// renew extends the lease now and then, because an idle projection has no batches that do.
func (t *term) renew(ctx context.Context, lose func()) {
	ticker := time.NewTicker(t.cfg.lease / renewals)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := t.projector.identity().renew(ctx, t.cfg.DB, t.cfg.lease)
		if errors.Is(err, ErrFenced) {
			lose()
			return
		}
		if err != nil && ctx.Err() == nil {
			t.cfg.Logger.WarnContext(ctx, "lease not renewed, trying again", append(t.attributes(), slog.Any("error", err))...)
		}
	}
}

// release hands the generation on, also when ctx has ended.
func (t *term) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	switch err := t.projector.identity().release(ctx, t.cfg.DB); {
	case errors.Is(err, ErrFenced):
		t.cfg.Logger.WarnContext(ctx, "projection was taken over by another process", t.attributes()...)
	case err != nil:
		t.cfg.Logger.WarnContext(ctx, "lease not released, it will run out", append(t.attributes(), slog.Any("error", err))...)
	default:
		t.cfg.Logger.InfoContext(ctx, "projection handed on", t.attributes()...)
	}
}

func (t *term) attributes() []any {
	at := t.projector.identity()
	return []any{slog.String("projection", at.name), slog.Int("generation", at.generation), slog.Int64("epoch", at.epoch)}
}
