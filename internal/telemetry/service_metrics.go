package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"linkledger/commands/clicks"
	"linkledger/queries/cache"
)

// redirectsCollector exports the state of the cache of redirects.
type redirectsCollector struct {
	redirects *cache.Redirects
}

var (
	cacheBytesMetric = prometheus.NewDesc("linkledger_targets_bytes",
		"Memory of the cached targets of short links.", nil, nil)
	cacheEntriesMetric = prometheus.NewDesc("linkledger_targets_entries",
		"Hashes whose targets are cached.", nil, nil)
	cacheHitsMetric = prometheus.NewDesc("linkledger_targets_hits_total",
		"Look-ups of a target in the cache that found it.", nil, nil)
	cacheMissesMetric = prometheus.NewDesc("linkledger_targets_misses_total",
		"Look-ups of a target in the cache that did not find it.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c redirectsCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- cacheBytesMetric
	descs <- cacheEntriesMetric
	descs <- cacheHitsMetric
	descs <- cacheMissesMetric
}

// Collect implements prometheus.Collector.
func (c redirectsCollector) Collect(metrics chan<- prometheus.Metric) {
	stats := c.redirects.Stats()
	metrics <- prometheus.MustNewConstMetric(
		cacheBytesMetric, prometheus.GaugeValue, float64(stats.Bytes),
	)
	metrics <- prometheus.MustNewConstMetric(
		cacheEntriesMetric, prometheus.GaugeValue, float64(stats.Entries),
	)
	metrics <- prometheus.MustNewConstMetric(
		cacheHitsMetric, prometheus.CounterValue, float64(stats.Hits),
	)
	metrics <- prometheus.MustNewConstMetric(
		cacheMissesMetric, prometheus.CounterValue, float64(stats.Misses),
	)
}

// clicksCollector exports how many clicks were recorded, spooled and lost, and the state of the
// spool.
type clicksCollector struct {
	clicks *clicks.Recorder
}

var (
	clicksRecordedMetric = prometheus.NewDesc("linkledger_clicks_recorded_total",
		"Clicks that this process wrote to the event store.", nil, nil)
	clicksSpooledMetric = prometheus.NewDesc("linkledger_clicks_spooled_total",
		"Clicks that went to the spool because the event store was slow or unavailable.", nil, nil)
	clicksLostMetric = prometheus.NewDesc("linkledger_clicks_lost_total",
		"Clicks that neither the event store nor the spool could take.", nil, nil)
	spoolRecordsMetric = prometheus.NewDesc("linkledger_spool_records",
		"Groups of clicks in the spool.", nil, nil)
	spoolBytesMetric = prometheus.NewDesc("linkledger_spool_bytes",
		"Size of the spool on disk.", nil, nil)
	spoolClicksMetric = prometheus.NewDesc("linkledger_spool_clicks",
		"Clicks in the spool.", nil, nil)
	spoolAgeMetric = prometheus.NewDesc("linkledger_spool_age_seconds",
		"Age of the oldest clicks in the spool; 0 when it is empty.", nil, nil)
	spoolDrainedMetric = prometheus.NewDesc("linkledger_spool_drained_total",
		"Clicks that have left the spool for the event store.", nil, nil)
	spoolRateMetric = prometheus.NewDesc("linkledger_spool_drain_rate",
		"Recent clicks per second that leave the spool; 0 when it is empty.", nil, nil)
	spoolLeftMetric = prometheus.NewDesc("linkledger_spool_left_seconds",
		"Time until the spool is empty at the recent rate; 0 when it is empty or does not "+
			"shrink.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c clicksCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- clicksRecordedMetric
	descs <- clicksSpooledMetric
	descs <- clicksLostMetric
	descs <- spoolRecordsMetric
	descs <- spoolBytesMetric
	descs <- spoolClicksMetric
	descs <- spoolAgeMetric
	descs <- spoolDrainedMetric
	descs <- spoolRateMetric
	descs <- spoolLeftMetric
}

// Collect implements prometheus.Collector.
func (c clicksCollector) Collect(metrics chan<- prometheus.Metric) {
	stats := c.clicks.Stats()
	count := func(desc *prometheus.Desc, total uint64) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(total))
	}
	gauge := func(desc *prometheus.Desc, value float64) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
	count(clicksRecordedMetric, stats.Recorded)
	count(clicksSpooledMetric, stats.Spooled)
	count(clicksLostMetric, stats.Lost)
	count(spoolDrainedMetric, stats.Drained)
	gauge(spoolRecordsMetric, float64(stats.Backlog.Groups))
	gauge(spoolClicksMetric, float64(stats.Backlog.Clicks))
	gauge(spoolBytesMetric, float64(stats.Backlog.Bytes))
	gauge(spoolAgeMetric, stats.Backlog.Age.Seconds())
	gauge(spoolRateMetric, stats.Backlog.Rate)
	gauge(spoolLeftMetric, stats.Backlog.Left.Seconds())
}
