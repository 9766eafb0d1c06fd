package engine

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
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// buildBatch is the most events of one transaction where batches are few, where the configuration does not say.
const buildBatch = 4_000

// leaseholder is the time in which this process owns a generation.
type leaseholder struct {
	cfg         Config
	projection  projection.Definition
	at          generation.Checkpoint // as it was at first; name, generation and epoch never change
	status      *status.Entry
	projector   *projector.Projector
	demand      *eventstore.Demand
	building    bool            // the generation had yet to take over when the term began
	serving     bool            // the generation served when the term began
	stopped     <-chan struct{} // the projector has stopped
	resume      chan<- struct{} // it is to try again
	resumptions int64           // counted so far
	end         context.CancelFunc
	ended       context.Context //nolint:containedctx // of end, for those who see that the term is over
}

func newLeaseholder(cfg Config, p projection.Definition, at generation.Checkpoint, row readmodel.Generation, status *status.Entry) *leaseholder {
	stopped, resume := make(chan struct{}, 1), make(chan struct{}, 1)
	t := &leaseholder{
		cfg: cfg, projection: p, at: at, status: status, building: !row.Built, serving: row.Serving,
		demand: eventstore.NewDemand(), stopped: stopped, resume: resume, resumptions: row.Resumptions,
	}
	t.ended, t.end = context.WithCancel(context.Background())
	t.projector = projector.New(projector.Config{
		Definition: p, At: at, Building: t.building, DB: cfg.DB, Store: cfg.Store, Status: status, OnCommit: cfg.OnCommit,
		Lease: cfg.Lease, Lose: t.end, Policy: cfg.Policy, Stopped: stopped, Resume: resume, Tracer: cfg.Tracer, Logger: cfg.Logger,
	})
	return t
}

// observe notices, at an election, that the term is over, or that an operator wants a stopped projection to try again.
func (t *leaseholder) observe(row readmodel.Generation) {
	if row.Epoch != t.at.Epoch {
		t.end()
	}
	if row.Resumptions == t.resumptions {
		return
	}
	t.resumptions = row.Resumptions
	select {
	case t.resume <- struct{}{}:
	default:
	}
}

// run keeps the generation up to date until ctx ends or another process owns it. An error means that it ended by
// itself. The router is the term's own: watermill ends a router with its last handler, and here that is the point.
func (t *leaseholder) run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(t.ended, end)()
	defer t.end()
	p := t.projection
	t.status.Own(true)
	defer t.status.Own(false)
	t.cfg.Logger.InfoContext(ctx, "projection taken over", t.attributes()...)
	if err := t.retryReadable(ctx); err != nil && ctx.Err() == nil {
		t.cfg.Logger.WarnContext(ctx, "dead letters not applied that this version can read", append(t.attributes(), slog.Any("error", err))...)
	}
	router, err := message.NewRouter(message.RouterConfig{}, quiet(t.cfg.Logger))
	if err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	subscriber := eventstore.NewSubscriber(t.cfg.Store, eventstore.SubscriberConfig{
		Filter:     p.Filter,
		Checkpoint: t.projector.Checkpoint,
		BatchSize:  t.batchSize(),
		Decode:     !p.Raw,
		Patient:    p.Patient, Rests: p.Rests, InParts: p.Held, Demand: t.demand, MinPatience: p.MinPatience, MaxPatience: p.MaxPatience,
		Logger:  t.cfg.Logger,
		OnError: t.status.Interrupt,
	})
	handler := router.AddConsumerHandler(p.Name, p.Name, subscriber, t.projector.Handle)
	tell := func(events int, took time.Duration, err error) { t.cfg.OnBatch(p.Name, events, took, err) }
	handler.AddMiddleware(noteOutcome(t.status, tell), middleware.Recoverer)

	var beside sync.WaitGroup
	beside.Go(func() { t.renew(ctx) })
	beside.Go(func() { t.analyze(ctx) })
	err = RunRouter(ctx, router)
	_ = subscriber.Close() // never fails
	end()
	beside.Wait()
	t.projector.End(ctx)
	t.release(ctx)
	return err
}

func (t *leaseholder) batchSize() int {
	if t.cfg.BatchSize == 0 && (t.building || t.projection.Rests) { // where batches are few, they are large
		return buildBatch
	}
	return t.cfg.BatchSize
}

// renew extends the lease now and then, because an idle projection has no batches that do, and tells how it is going.
func (t *leaseholder) renew(ctx context.Context) {
	ticker := time.NewTicker(t.cfg.Lease / renewals)
	defer ticker.Stop()
	var counted uint64
	since := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.stopped:
		case <-ticker.C:
		}
		report, events := t.status.Report()
		report.Rate = float64(events-counted) / time.Since(since).Seconds()
		counted, since = events, time.Now()
		err := t.at.Renew(ctx, t.cfg.DB, t.cfg.Lease, report)
		if errors.Is(err, generation.ErrFenced) {
			t.end()
			return
		}
		if err == nil {
			err = t.projector.TryTakeOver(ctx)
		}
		if err != nil && ctx.Err() == nil {
			t.cfg.Logger.WarnContext(ctx, "lease not renewed, trying again", append(t.attributes(), slog.Any("error", err))...)
		}
	}
}

// analyze sees to it that the planner knows the tables, beside the batches: not before the log was caught up with, because
// until then whatever it learns is soon outgrown.
func (t *leaseholder) analyze(ctx context.Context) {
	ticker := time.NewTicker(t.cfg.Lease)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !t.projector.HasCaughtUp() {
			continue
		}
		at := t.at
		if err := readmodel.Analyze(ctx, t.cfg.DB, at.Name, at.Generation); err != nil && ctx.Err() == nil {
			t.cfg.Logger.WarnContext(ctx, "tables not analyzed, trying again", append(t.attributes(), slog.Any("error", err))...)
		}
	}
}

// release hands the generation on, also when ctx has ended.
func (t *leaseholder) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	switch err := t.at.Release(ctx, t.cfg.DB); {
	case errors.Is(err, generation.ErrFenced):
		t.cfg.Logger.WarnContext(ctx, "projection was taken over by another process", t.attributes()...)
	case err != nil:
		t.cfg.Logger.WarnContext(ctx, "lease not released, it will run out", append(t.attributes(), slog.Any("error", err))...)
	default:
		t.cfg.Logger.InfoContext(ctx, "projection handed on", t.attributes()...)
	}
}

func (t *leaseholder) attributes() []any {
	at := t.at
	return []any{slog.String("projection", at.Name), slog.Int("generation", at.Generation), slog.Int64("epoch", at.Epoch)}
}

// retryReadable applies the dead letters of those streams whose first one can be read by now, because an older version has set
// it aside. The term of this process ends by that, and the next one begins without them.
func (t *leaseholder) retryReadable(ctx context.Context) error {
	if !t.serving {
		return nil
	}
	letters, err := deadletter.List(ctx, t.cfg.DB, t.projection.Name)
	if err != nil {
		return err
	}
	for _, l := range letters {
		if l.Generation != t.at.Generation || !deadletter.Readable(l) {
			continue
		}
		n, err := deadletter.Retry(ctx, t.cfg.DB, t.projection, l.Stream)
		if err != nil {
			return err
		}
		t.cfg.Logger.InfoContext(ctx, "dead letters applied that this version can read",
			append(t.attributes(), slog.String("stream", l.Stream), slog.Int("events", n))...)
	}
	return nil
}
