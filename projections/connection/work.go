package connection

// This file tells apart, when a request has run out of time, whether the database was busy with the
// queries of that request or did not answer.

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// queryCanceled is the SQLSTATE of a query that PostgreSQL has stopped: by request, or because of
// statement_timeout.
const queryCanceled = "57014"

// requestWork is what the database does for one request.
type requestWork struct {
	allowed time.Duration
	took    atomic.Int64 // nanoseconds of the queries that the database has answered
	stopped atomic.Bool  // the database has confirmed that it has stopped a query
}

type (
	workKey  struct{}
	beganKey struct{}
)

// Measured returns a context whose queries Overran judges. allowed is the time for all of them.
func Measured(ctx context.Context, allowed time.Duration) context.Context {
	return context.WithValue(ctx, workKey{}, &requestWork{allowed: allowed})
}

// Spent adds took to the time of the queries of a request. took is how long the request has waited
// for other requests of its caller.
func Spent(ctx context.Context, took time.Duration) {
	if w, ok := ctx.Value(workKey{}).(*requestWork); ok {
		w.took.Add(int64(took))
	}
}

// Overran reports whether the queries of a request ask for more than the database can do in time.
// ctx is from Measured. Overran returns true if the database was working on a query when the time
// was over, and the queries took at least half of the time. It returns false if the time was spent
// waiting for a connection, or for a database that does not answer.
func Overran(ctx context.Context) bool {
	w, ok := ctx.Value(workKey{}).(*requestWork)
	return ok && w.stopped.Load() && time.Duration(w.took.Load()) >= w.allowed/2
}

// workTracer measures the queries of contexts from Measured.
type workTracer struct{}

// TraceQueryStart implements pgx.QueryTracer. The query has got its connection already, so the wait
// for one does not count.
func (workTracer) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData,
) context.Context {
	if _, measured := ctx.Value(workKey{}).(*requestWork); !measured {
		return ctx
	}
	return context.WithValue(ctx, beganKey{}, time.Now())
}

// TraceQueryEnd implements pgx.QueryTracer.
func (workTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, end pgx.TraceQueryEndData) {
	w, measured := ctx.Value(workKey{}).(*requestWork)
	if !measured {
		return
	}
	refused, answered := errors.AsType[*pgconn.PgError](end.Err)
	if end.Err != nil && !answered {
		return
	}
	if began, ok := ctx.Value(beganKey{}).(time.Time); ok {
		w.took.Add(int64(time.Since(began)))
	}
	if answered && refused.Code == queryCanceled {
		w.stopped.Store(true)
	}
}

// confirmStops makes a connection ask PostgreSQL to stop a query when its context ends, and wait
// for the answer. If there is no answer within stopTimeout, the connection is closed. It also makes
// the connection measure its queries for Overran.
func confirmStops(_ context.Context, cfg *pgx.ConnConfig) error {
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &stopper{conn: conn}
	}
	if cfg.Tracer == nil {
		cfg.Tracer = workTracer{}
	} else {
		cfg.Tracer = multitracer.New(workTracer{}, cfg.Tracer)
	}
	return nil
}
