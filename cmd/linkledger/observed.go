package main

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"linkledger/events/eventstore"
)

// observed counts and times what the parts of the service do.
type observed struct {
	requests     *prometheus.HistogramVec
	calls        *prometheus.HistogramVec
	batchSeconds *prometheus.HistogramVec
	batchEvents  *prometheus.HistogramVec
	retries      *prometheus.CounterVec
	logins       *prometheus.CounterVec
}

func newObserved() *observed {
	seconds := prometheus.ExponentialBucketsRange(0.000_5, 30, 12)
	return &observed{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "linkledger_http_request_duration_seconds", Help: "Requests that were answered.", Buckets: seconds,
		}, []string{"method", "route", "code"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "linkledger_eventstore_call_duration_seconds",
			Help:    "Calls of the event store with all their tries; the outcome is ok, unavailable or refused.",
			Buckets: seconds,
		}, []string{"call", "outcome"}),
		batchSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "linkledger_projection_batch_duration_seconds", Help: "Batches that this process applied.", Buckets: seconds,
		}, []string{"projection"}),
		batchEvents: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "linkledger_projection_batch_events", Help: "Events of the batches that this process applied.",
			Buckets: []float64{0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000},
		}, []string{"projection"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "linkledger_projection_retries_total", Help: "Batches that this process could not apply and tries again.",
		}, []string{"projection"}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "linkledger_login_failures_total",
			Help: "Calls of the API that were refused for their credentials; throttled: without saying whether the user name or the key is wrong.",
		}, []string{"reason"}),
	}
}

// request is httpapi's Observe.
func (o *observed) request(method, route string, status int, took time.Duration) {
	o.requests.WithLabelValues(method, cmp.Or(route, "none"), strconv.Itoa(status)).Observe(took.Seconds())
}

// login is httpapi's LoginRefused.
func (o *observed) login(reason string) { o.logins.WithLabelValues(reason).Inc() }

// call is the event store's OnCall.
func (o *observed) call(call string, took time.Duration, err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, eventstore.ErrUnavailable):
		outcome = "unavailable"
	case err != nil:
		outcome = "refused"
	}
	o.calls.WithLabelValues(call, outcome).Observe(took.Seconds())
}

// batch is the projections' OnBatch.
func (o *observed) batch(projection string, events int, took time.Duration, err error) {
	if err != nil {
		o.retries.WithLabelValues(projection).Inc()
		return
	}
	o.batchSeconds.WithLabelValues(projection).Observe(took.Seconds())
	o.batchEvents.WithLabelValues(projection).Observe(float64(events))
}

// Describe implements prometheus.Collector.
func (o *observed) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range o.collectors() {
		c.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (o *observed) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range o.collectors() {
		c.Collect(metrics)
	}
}

func (o *observed) collectors() []prometheus.Collector {
	return []prometheus.Collector{o.requests, o.calls, o.batchSeconds, o.batchEvents, o.retries, o.logins}
}
