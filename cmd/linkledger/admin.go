package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"linkledger/projections"
)

const (
	// healthTimeout bounds one readiness probe.
	healthTimeout = 2 * time.Second
	// ownerGrace is how long a probe waits for a projection without an owner to get one: a killed owner is followed
	// sooner, and that alone must not make all nodes unready at once.
	ownerGrace = 500 * time.Millisecond
	ownerPoll  = 50 * time.Millisecond
)

// adminHandler serves health, metrics and, where it was asked for, profiling on the internal address. A service that stops is no longer ready.
func (s *service) adminHandler(stopping context.Context) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&boardCollector{board: &s.board},
		overviewCollector{service: s},
		s.observed,
		targetsCollector{targets: s.targets},
		clicksCollector{clicks: s.clicks},
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, r *http.Request) { s.ready(stopping, w, r) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	if s.profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	return mux
}

// ready answers 200 when requests can be served, otherwise 503, with the state of each part.
func (s *service) ready(stopping context.Context, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	_, storeErr := s.store.Head(ctx)
	checks := map[string]error{
		"process":    stopping.Err(),
		"eventstore": storeErr,
		"database":   s.db.PingContext(ctx),
		"clicks":     s.clicks.Health(),
	}
	s.checkProjections(ctx, checks)
	state := make(map[string]string, len(checks))
	code := http.StatusOK
	for name, err := range checks {
		state[name] = "ok"
		if err != nil {
			state[name] = err.Error()
			code = http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(state); err != nil && !errors.Is(err, context.Canceled) {
		s.logger.DebugContext(ctx, "readiness not sent", slog.Any("error", err))
	}
}

// checkProjections tells of the projections that readers see, by the event store's own log and whoever owns them.
func (s *service) checkProjections(ctx context.Context, checks map[string]error) {
	overviews, err := s.settledOverviews(ctx)
	if err != nil {
		checks["projections"] = err
		return
	}
	for _, o := range overviews {
		if !o.Serving {
			continue
		}
		var problem error
		switch {
		case o.State == projections.Unowned:
			problem = fmt.Errorf("%s at position %s: no process keeps it up to date", o.State, o.Position)
		case o.State == projections.Paused, o.State == projections.Stopped, o.State == projections.Misplaced:
			problem = fmt.Errorf("%s at position %s: %s", o.State, o.Position, cmp.Or(o.LastError, "by an operator"))
		case o.Lag > s.ReadyMaxLag:
			problem = fmt.Errorf("%s: lags by %s, %d events: %s", o.State, o.Lag.Round(time.Second), o.LagEvents, cmp.Or(o.LastError, "no error"))
		}
		checks["projection "+o.Name] = problem
	}
}

// settledOverviews returns the overviews as soon as all projections that readers see have owners, or at the end of
// ownerGrace.
func (s *service) settledOverviews(ctx context.Context) ([]projections.Overview, error) {
	grace := time.After(ownerGrace)
	for {
		overviews, err := projections.Overviews(ctx, s.db, s.store)
		if err != nil || !slices.ContainsFunc(overviews, unowned) {
			return overviews, err
		}
		select {
		case <-grace:
			return overviews, nil
		case <-ctx.Done():
			return overviews, nil
		case <-time.After(ownerPoll):
		}
	}
}

func unowned(o projections.Overview) bool { return o.Serving && o.State == projections.Unowned }
