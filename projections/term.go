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

	"linkledger/events/eventstore/subscription"
	"linkledger/projections/readmodel"
)

// term is the time in which this process owns a generation.
type term struct {
	cfg         Config
	projector   *projector
	demand      *subscription.Demand
	epoch       int64
	serving     bool            // the generation served when the term began
	stopped     <-chan struct{} // the projector has stopped
	resume      chan<- struct{} // it is to try again
	resumptions int64           // counted so far
	end         context.CancelFunc
	ended       context.Context //nolint:containedctx // of end, for those who see that the term is over
}

func newTerm(cfg Config, p projection, at checkpoint, row readmodel.Generation, status *statusLine) *term {
	stopped, resume := make(chan struct{}, 1), make(chan struct{}, 1)
	t := &term{cfg: cfg, demand: subscription.NewDemand(), epoch: at.epoch, serving: row.Serving, stopped: stopped, resume: resume, resumptions: row.Resumptions}
	t.ended, t.end = context.WithCancel(context.Background())
	t.projector = &projector{
		projection: p, db: cfg.DB, status: status, onCommit: cfg.OnCommit,
		lease: cfg.lease, lose: t.end, policy: cfg.Policy, stop: stopped, resume: resume, at: at, id: at,
		store: cfg.Store, tracer: cfg.Tracer, logger: cfg.Logger, building: !row.Built,
		notes: noteKeys{master: cfg.DB.MasterKey},
	}
	if t.projector.building && (p.keeps || !p.held) { // what holds gathers more by itself
		t.projector.bulk = newBulk()
	}
	return t
}

// observe notices, at an election, that the term is over, or that an operator wants a stopped projection to try again.
func (t *term) observe(row readmodel.Generation) {
	if row.Epoch != t.epoch {
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
func (t *term) run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(t.ended, end)()
	defer t.end()
	p := t.projector
	p.status.own(true)
	defer p.status.own(false)
	t.cfg.Logger.InfoContext(ctx, "projection taken over", t.attributes()...)
	if err := t.retryReadable(ctx); err != nil && ctx.Err() == nil {
		t.cfg.Logger.WarnContext(ctx, "dead letters not applied that this version can read", append(t.attributes(), slog.Any("error", err))...)
	}
	router, err := message.NewRouter(message.RouterConfig{}, quiet(t.cfg.Logger))
	if err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	subscriber := subscription.New(t.cfg.Store, subscription.Config{
		Filter:     p.filter,
		Checkpoint: p.checkpoint,
		BatchSize:  t.batchSize(),
		Decode:     !p.raw,
		Patient:    p.patient, Rests: p.rests, InParts: p.held, Demand: t.demand, MinPatience: p.minPatience, MaxPatience: p.maxPatience,
		Logger:  t.cfg.Logger,
		OnError: p.status.interrupt,
	})
	handler := router.AddConsumerHandler(p.name, p.name, subscriber, p.handle)
	tell := func(events int, took time.Duration, err error) { t.cfg.OnBatch(p.name, events, took, err) }
	handler.AddMiddleware(noteOutcome(p.status, tell), middleware.Recoverer)

	var beside sync.WaitGroup
	beside.Go(func() { t.renew(ctx) })
	beside.Go(func() { t.analyze(ctx) })
	err = runRouter(ctx, router)
	_ = subscriber.Close() // never fails
	end()
	beside.Wait()
	p.end(ctx)
	t.release(ctx)
	return err
}

func (t *term) batchSize() int {
	if t.cfg.BatchSize == 0 && (t.projector.building || t.projector.rests) { // where batches are few, they are large
		return buildBatch
	}
	return t.cfg.BatchSize
}

// renew extends the lease now and then, because an idle projection has no batches that do, and tells how it is going.
func (t *term) renew(ctx context.Context) {
	ticker := time.NewTicker(t.cfg.lease / renewals)
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
		report, events := t.projector.status.report()
		report.rate = float64(events-counted) / time.Since(since).Seconds()
		counted, since = events, time.Now()
		err := t.projector.id.renew(ctx, t.cfg.DB, t.cfg.lease, report)
		if errors.Is(err, ErrFenced) {
			t.end()
			return
		}
		if err == nil {
			err = t.projector.goOnBuilding(ctx)
		}
		if err != nil && ctx.Err() == nil {
			t.cfg.Logger.WarnContext(ctx, "lease not renewed, trying again", append(t.attributes(), slog.Any("error", err))...)
		}
	}
}

// analyze sees to it that the planner knows the tables, beside the batches: not before the log was caught up with, because
// until then whatever it learns is soon outgrown.
func (t *term) analyze(ctx context.Context) {
	ticker := time.NewTicker(t.cfg.lease)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !t.projector.caughtUp.Load() {
			continue
		}
		at := t.projector.id
		if err := readmodel.Analyze(ctx, t.cfg.DB, at.name, at.generation); err != nil && ctx.Err() == nil {
			t.cfg.Logger.WarnContext(ctx, "tables not analyzed, trying again", append(t.attributes(), slog.Any("error", err))...)
		}
	}
}

// release hands the generation on, also when ctx has ended.
func (t *term) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	switch err := t.projector.id.release(ctx, t.cfg.DB); {
	case errors.Is(err, ErrFenced):
		t.cfg.Logger.WarnContext(ctx, "projection was taken over by another process", t.attributes()...)
	case err != nil:
		t.cfg.Logger.WarnContext(ctx, "lease not released, it will run out", append(t.attributes(), slog.Any("error", err))...)
	default:
		t.cfg.Logger.InfoContext(ctx, "projection handed on", t.attributes()...)
	}
}

func (t *term) attributes() []any {
	at := t.projector.id
	return []any{slog.String("projection", at.name), slog.Int("generation", at.generation), slog.Int64("epoch", at.epoch)}
}
