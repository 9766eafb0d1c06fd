package telemetry

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// registryCollector exports the state of the projections in this process.
type registryCollector struct {
	registry *status.Registry
}

var (
	positionMetric = prometheus.NewDesc("linkledger_projection_position",
		"Last commit position of the projection that this process has seen.",
		[]string{"projection", "generation"}, nil)
	eventsMetric = prometheus.NewDesc("linkledger_projection_events_total",
		"Events that this process applied.", []string{"projection", "generation"}, nil)
	failingMetric = prometheus.NewDesc("linkledger_projection_failing",
		"1 while the projection fails.", []string{"projection", "generation"}, nil)
	stoppedMetric = prometheus.NewDesc("linkledger_projection_stopped",
		"1 while the projection is stopped at an event that cannot be applied.",
		[]string{"projection", "generation"}, nil)
	setAsideMetric = prometheus.NewDesc("linkledger_projection_set_aside_total",
		"Events that this process set aside as dead letters.", []string{"projection", "generation"},
		nil)
	skippedMetric = prometheus.NewDesc("linkledger_projection_skipped_total",
		"Events of the event store itself in streams of Linkledger, such as tombstones, that this "+
			"process skipped.",
		[]string{"projection", "generation"}, nil)
	ownedMetric = prometheus.NewDesc("linkledger_projection_owned",
		"1 while this process keeps the projection up to date, 0 while it is on standby.",
		[]string{"projection", "generation"}, nil)
)

// Describe implements prometheus.Collector.
func (c registryCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- positionMetric
	descs <- eventsMetric
	descs <- failingMetric
	descs <- ownedMetric
	descs <- stoppedMetric
	descs <- setAsideMetric
	descs <- skippedMetric
}

// Collect implements prometheus.Collector.
func (c registryCollector) Collect(metrics chan<- prometheus.Metric) {
	for _, entry := range c.registry.All() {
		gauge := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64) {
			metrics <- prometheus.MustNewConstMetric(
				desc, kind, value, entry.Projection, strconv.Itoa(entry.Generation),
			)
		}
		gauge(positionMetric, prometheus.GaugeValue, float64(entry.Position.Commit))
		gauge(eventsMetric, prometheus.CounterValue, float64(entry.Events))
		gauge(setAsideMetric, prometheus.CounterValue, float64(entry.SetAside))
		gauge(skippedMetric, prometheus.CounterValue, float64(entry.Skipped))
		gauge(failingMetric, prometheus.GaugeValue, boolValue(entry.Err != nil))
		gauge(stoppedMetric, prometheus.GaugeValue, boolValue(entry.Stopped))
		gauge(ownedMetric, prometheus.GaugeValue, boolValue(entry.Owned))
	}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// overviewCollector exports the state of the projections in all processes, as operators see it.
type overviewCollector struct {
	db     *readmodel.DB
	store  *eventstore.Store
	logger *slog.Logger
}

// scrapeTimeout bounds the queries of one scrape.
const scrapeTimeout = 2 * time.Second

var (
	lagEventsMetric = prometheus.NewDesc("linkledger_projection_lag_events",
		"Events of the log that are still to be applied.", []string{"projection", "generation"},
		nil)
	lagSecondsMetric = prometheus.NewDesc("linkledger_projection_lag_seconds",
		"Age of the oldest event that is still to be applied; 0 if there is none.",
		[]string{"projection", "generation"}, nil)
	rateMetric = prometheus.NewDesc("linkledger_projection_rate",
		"Events per second that the owner has applied recently.",
		[]string{"projection", "generation"}, nil)
	stateMetric = prometheus.NewDesc("linkledger_projection_state",
		"1 for the state that the projection is in.", []string{"projection", "generation", "state"},
		nil)
)

// Describe implements prometheus.Collector.
func (c overviewCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- lagEventsMetric
	descs <- lagSecondsMetric
	descs <- rateMetric
	descs <- stateMetric
}

// Collect implements prometheus.Collector. It collects nothing if the database or the event store
// does not answer.
func (c overviewCollector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	overviews, err := projections.Overviews(ctx, c.db, c.store)
	if err != nil {
		c.logger.DebugContext(ctx, "lag of the projections not known", slog.Any("error", err))
		return
	}
	for _, o := range overviews {
		labels := []string{o.Name, strconv.Itoa(o.Generation)}
		metrics <- prometheus.MustNewConstMetric(
			lagEventsMetric, prometheus.GaugeValue, float64(o.LagEvents), labels...,
		)
		metrics <- prometheus.MustNewConstMetric(
			lagSecondsMetric, prometheus.GaugeValue, o.Lag.Seconds(), labels...,
		)
		metrics <- prometheus.MustNewConstMetric(
			rateMetric, prometheus.GaugeValue, o.Rate, labels...,
		)
		metrics <- prometheus.MustNewConstMetric(
			stateMetric, prometheus.GaugeValue, 1, append(labels, string(o.State))...,
		)
	}
}
