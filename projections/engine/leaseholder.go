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

	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/robots"
)

// largeBatch is the default maximum number of events in one transaction of a build, or of a
// projection that no reader waits for.
const largeBatch = 4_000

// leaseholder owns one generation, from its election until another process owns it or this process
// ends.
type leaseholder struct {
	cfg         Config
	projection  projection.Definition
	at          generation.Checkpoint // at the election; name, generation and epoch never change
	status      *status.Entry
	projector   *projector.Projector
	demand      *subscription.Demand
	building    bool            // the generation had not served when it was acquired
	stopped     <-chan struct{} // receives a value when the projector has stopped
	resume      chan<- struct{} // makes a stopped projector try again
	resumptions int64           // the number that observe has seen last
	misplaced   misplacement
	end         context.CancelFunc
	//nolint:containedctx // end ends it; run derives its own context from it
	ended context.Context
}

func newLeaseholder(
	cfg Config, p projection.Definition, at generation.Checkpoint, row readmodel.Generation,
	judgement *robots.Judgement, status *status.Entry,
) *leaseholder {
	stopped, resume := make(chan struct{}, 1), make(chan struct{}, 1)
	l := &leaseholder{
		cfg: cfg, projection: p, at: at, status: status, building: !row.Built,
		demand: subscription.NewDemand(), stopped: stopped, resume: resume,
		resumptions: row.Resumptions,
	}
	l.ended, l.end = context.WithCancel(context.Background())
	l.projector = projector.New(projector.Config{
		Definition: p, At: at, Building: l.building, Judgement: judgement,
		DB: cfg.DB, Store: cfg.Store, Identify: cfg.Store.IdentityAt, Status: status,
		OnCommit: cfg.OnCommit,
		Lease:    cfg.Lease, Lose: l.end, MaxParked: cfg.MaxParked,
		Stopped: stopped, Resume: resume,
		Tracer: cfg.Tracer, Logger: cfg.Logger,
	})
	return l
}

// observe compares the row of an election with this leaseholder. It ends run if another process
// owns the generation. It makes a stopped projector try again if an operator has requested that.
func (l *leaseholder) observe(row readmodel.Generation) {
	if row.Epoch != l.at.Epoch {
		l.end()
	}
	if row.Resumptions == l.resumptions {
		return
	}
	l.resumptions = row.Resumptions
	select {
	case l.resume <- struct{}{}:
	default:
	}
}

// run keeps the generation up to date until ctx ends or another process owns it. An error means
// that the projection ended by itself.
//
// Each run has its own router, because watermill ends a router together with its last handler.
func (l *leaseholder) run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(l.ended, end)()
	defer l.end()
	p := l.projection
	l.status.SetOwned(true)
	defer l.status.SetOwned(false)
	l.cfg.Logger.InfoContext(ctx, "projection taken over", l.attributes()...)
	router, err := message.NewRouter(message.RouterConfig{}, routerLogger(l.cfg.Logger))
	if err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	subscriber := subscription.New(l.cfg.Store, subscription.Config{
		Filter:     p.Filter,
		Checkpoint: l.checkpoint,
		BatchSize:  l.batchSize(),
		Decode:     !p.Raw,
		Delayable:  p.Delayable, NeverAwaited: p.NeverAwaited, SendParts: p.Buffered,
		Demand: l.demand, MinDelay: p.MinDelay, MaxDelay: p.MaxDelay,
		Logger:  l.cfg.Logger,
		OnError: func(err error) { l.interrupted(ctx, err) },
	})
	handler := router.AddConsumerHandler(p.Name, p.Name, subscriber, l.handle)
	report := func(events int, took time.Duration, err error) {
		l.cfg.OnBatch(p.Name, events, took, err)
	}
	handler.AddMiddleware(reportOutcome(l.status, report), middleware.Recoverer)

	var background sync.WaitGroup
	background.Go(func() { l.renew(ctx) })
	background.Go(func() { l.analyze(ctx) })
	background.Go(func() { l.retry(ctx) })
	err = runRouter(ctx, router)
	_ = subscriber.Close() // never fails
	end()
	background.Wait()
	l.projector.End(ctx)
	l.release(ctx)
	return err
}

// batchSize returns the maximum number of events in one transaction. By default it is larger for
// builds, and for projections that no reader waits for.
func (l *leaseholder) batchSize() int {
	if l.cfg.BatchSize == 0 && (l.building || l.projection.NeverAwaited) {
		return largeBatch
	}
	return l.cfg.BatchSize
}

// renew extends the lease regularly, because an idle projection has no batches that extend it. Each
// renewal stores the state of the projection in the database.
func (l *leaseholder) renew(ctx context.Context) {
	ticker := time.NewTicker(l.cfg.Lease / renewalsPerLease)
	defer ticker.Stop()
	var counted uint64
	since := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.stopped:
		case <-ticker.C:
		}
		report, events := l.status.Report()
		report.Rate = float64(events-counted) / time.Since(since).Seconds()
		counted, since = events, time.Now()
		err := l.at.Renew(ctx, l.cfg.DB, l.cfg.Lease, report)
		if errors.Is(err, generation.ErrFenced) {
			l.end()
			return
		}
		if err == nil {
			err = l.projector.TryTakeOver(ctx)
		}
		if err != nil && ctx.Err() == nil {
			l.cfg.Logger.WarnContext(
				ctx, "lease not renewed, trying again",
				append(l.attributes(), slog.Any("error", err))...,
			)
		}
	}
}

// analyze keeps the statistics of the planner up to date while batches are applied. It begins when
// the projector has caught up with the log, because earlier statistics are soon outdated.
func (l *leaseholder) analyze(ctx context.Context) {
	ticker := time.NewTicker(l.cfg.Lease)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !l.projector.HasCaughtUp() {
			continue
		}
		at := l.at
		if err := readmodel.Analyze(ctx, l.cfg.DB, at.Name, at.Generation); err != nil &&
			ctx.Err() == nil {
			l.cfg.Logger.WarnContext(
				ctx, "tables not analyzed, trying again",
				append(l.attributes(), slog.Any("error", err))...,
			)
		}
	}
}

// release ends the lease, so that the next owner does not wait until it runs out. It does so even
// if ctx has ended.
func (l *leaseholder) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	switch err := l.at.Release(ctx, l.cfg.DB); {
	case errors.Is(err, generation.ErrFenced):
		l.cfg.Logger.WarnContext(
			ctx, "projection was taken over by another process", l.attributes()...,
		)
	case err != nil:
		l.cfg.Logger.WarnContext(
			ctx, "lease not released, it will run out",
			append(l.attributes(), slog.Any("error", err))...,
		)
	default:
		l.cfg.Logger.InfoContext(ctx, "projection handed on", l.attributes()...)
	}
}

func (l *leaseholder) attributes() []any {
	at := l.at
	return []any{
		slog.String("projection", at.Name), slog.Int("generation", at.Generation),
		slog.Int64("epoch", at.Epoch),
	}
}
