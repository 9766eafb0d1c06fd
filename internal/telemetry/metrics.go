package telemetry

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"linkledger/commands/clicks"
	"linkledger/events/eventstore"
	"linkledger/projections/connection"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
	"linkledger/queries/cache"
)

// Metrics counts and times what the parts of the service do.
type Metrics struct {
	requests     *prometheus.HistogramVec
	calls        *prometheus.HistogramVec
	batchSeconds *prometheus.HistogramVec
	batchEvents  *prometheus.HistogramVec
	retries      *prometheus.CounterVec
	logins       *prometheus.CounterVec
}

// NewMetrics returns metrics that are all zero.
func NewMetrics() *Metrics {
	seconds := prometheus.ExponentialBucketsRange(0.000_5, 30, 12)
	return &Metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "linkledger_http_request_duration_seconds", Help: "Answered requests.",
			Buckets: seconds,
		}, []string{"method", "route", "code"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "linkledger_eventstore_call_duration_seconds",
			Help: "Calls of the event store with all their attempts; the outcome is ok, " +
				"unavailable or refused.",
			Buckets: seconds,
		}, []string{"call", "outcome"}),
		batchSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "linkledger_projection_batch_duration_seconds",
			Help: "Batches that this process applied.", Buckets: seconds,
		}, []string{"projection"}),
		batchEvents: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "linkledger_projection_batch_events",
			Help:    "Events of the batches that this process applied.",
			Buckets: []float64{0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000},
		}, []string{"projection"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "linkledger_projection_retries_total",
			Help: "Batches that this process could not apply and retries.",
		}, []string{"projection"}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "linkledger_login_failures_total",
			Help: "API calls refused for their credentials; throttled: without saying if the " +
				"user name or the key is wrong.",
		}, []string{"reason"}),
	}
}

// Request observes a request. It is the Observe of httpapi.Config.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, cmp.Or(route, "none"), strconv.Itoa(status)).Observe(
		took.Seconds(),
	)
}

// Login counts a refused login. It is the LoginRefused of httpapi.Config.
func (m *Metrics) Login(reason string) { m.logins.WithLabelValues(reason).Inc() }

// Call observes a call of the event store. It is the OnCall of eventstore.Config.
func (m *Metrics) Call(call string, took time.Duration, err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, eventstore.ErrUnavailable):
		outcome = "unavailable"
	case err != nil:
		outcome = "refused"
	}
	m.calls.WithLabelValues(call, outcome).Observe(took.Seconds())
}

// Batch observes a batch. It is the OnBatch of engine.Config.
func (m *Metrics) Batch(projection string, events int, took time.Duration, err error) {
	if err != nil {
		m.retries.WithLabelValues(projection).Inc()
		return
	}
	m.batchSeconds.WithLabelValues(projection).Observe(took.Seconds())
	m.batchEvents.WithLabelValues(projection).Observe(float64(events))
}

// Sources are the parts of a service that have counters of their own.
type Sources struct {
	Projections *status.Registry
	Redirects   *cache.Redirects
	Clicks      *clicks.Recorder
	DB          *readmodel.DB
	Disk        *connection.Disk // of the database
	Store       *eventstore.Store
	Logger      *slog.Logger
	LostLines   func() uint64
	BackupAge   func() (age time.Duration, known bool) // nil: this process makes no backups
}

// Handler returns a handler that answers scrapes with the metrics of a service and its process.
func (m *Metrics) Handler(s Sources) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newStatusCollector(s.Projections), newOverviewCollector(s),
		newRedirectsCollector(s.Redirects), newClicksCollector(s.Clicks),
		newDisksCollector(s.Store, s.Clicks, s.Disk), newLogCollector(s.LostLines),
		newBackupCollector(s.BackupAge),
		m.requests, m.calls, m.batchSeconds, m.batchEvents, m.retries, m.logins,
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
