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
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"linkledger/projections"
)

// healthTimeout bounds one readiness probe.
const healthTimeout = 2 * time.Second

// adminHandler serves health, metrics and profiling on the internal address. A service that stops is no longer ready.
func (s *service) adminHandler(stopping context.Context) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&boardCollector{board: &s.board},
		targetsCollector{targets: s.targets},
		clicksCollector{clicks: s.clicks},
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, r *http.Request) { s.ready(stopping, w, r) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
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
	overviews, err := projections.Overviews(ctx, s.db, s.store)
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
		case o.State == projections.Paused, o.State == projections.Stopped:
			problem = fmt.Errorf("%s at position %s: %s", o.State, o.Position, cmp.Or(o.LastError, "by an operator"))
		case o.Lag > s.ReadyMaxLag:
			problem = fmt.Errorf("%s: lags by %s, %d events: %s", o.State, o.Lag.Round(time.Second), o.LagEvents, cmp.Or(o.LastError, "no error"))
		}
		checks["projection "+o.Name] = problem
	}
}

// boardCollector exports the state of the projections.
type boardCollector struct {
	board *projections.Board
}

var (
	positionMetric = prometheus.NewDesc("linkledger_projection_position",
		"Commit position up to which this process knows the projection to be.", []string{"projection", "generation"}, nil)
	eventsMetric = prometheus.NewDesc("linkledger_projection_events_total",
		"Events that this process applied.", []string{"projection", "generation"}, nil)
	failingMetric = prometheus.NewDesc("linkledger_projection_failing",
		"1 while the projection does not go on.", []string{"projection", "generation"}, nil)
	stoppedMetric = prometheus.NewDesc("linkledger_projection_stopped",
		"1 while the projection stands before an event that can't be applied.", []string{"projection", "generation"}, nil)
	ownedMetric = prometheus.NewDesc("linkledger_projection_owned",
		"1 while this process keeps the projection up to date, 0 while it stands by.", []string{"projection", "generation"}, nil)
)

// Describe implements prometheus.Collector.
func (c *boardCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- positionMetric
	descs <- eventsMetric
	descs <- failingMetric
	descs <- ownedMetric
	descs <- stoppedMetric
}

// Collect implements prometheus.Collector.
func (c *boardCollector) Collect(metrics chan<- prometheus.Metric) {
	for _, status := range c.board.All() {
		gauge := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64) {
			metrics <- prometheus.MustNewConstMetric(desc, kind, value, status.Projection, strconv.Itoa(status.Generation))
		}
		gauge(positionMetric, prometheus.GaugeValue, float64(status.Position.Commit))
		gauge(eventsMetric, prometheus.CounterValue, float64(status.Events))
		gauge(failingMetric, prometheus.GaugeValue, truth(status.Err != nil))
		gauge(stoppedMetric, prometheus.GaugeValue, truth(status.Stopped))
		gauge(ownedMetric, prometheus.GaugeValue, truth(status.Owned))
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
