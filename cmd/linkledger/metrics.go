package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"linkledger/queries"
)

// targetsCollector exports the use of the memory of targets.
type targetsCollector struct {
	targets *queries.Targets
}

var (
	cacheBytesMetric = prometheus.NewDesc("linkledger_targets_bytes",
		"Memory that the targets of short links take.", nil, nil)
	cacheEntriesMetric = prometheus.NewDesc("linkledger_targets_entries",
		"Hashes whose targets are in memory.", nil, nil)
	cacheHitsMetric = prometheus.NewDesc("linkledger_targets_hits_total",
		"Look-ups of a target that were answered from memory.", nil, nil)
	cacheMissesMetric = prometheus.NewDesc("linkledger_targets_misses_total",
		"Look-ups of a target that were not.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c targetsCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- cacheBytesMetric
	descs <- cacheEntriesMetric
	descs <- cacheHitsMetric
	descs <- cacheMissesMetric
}

// Collect implements prometheus.Collector.
func (c targetsCollector) Collect(metrics chan<- prometheus.Metric) {
	stats := c.targets.Stats()
	metrics <- prometheus.MustNewConstMetric(cacheBytesMetric, prometheus.GaugeValue, float64(stats.Bytes))
	metrics <- prometheus.MustNewConstMetric(cacheEntriesMetric, prometheus.GaugeValue, float64(stats.Entries))
	metrics <- prometheus.MustNewConstMetric(cacheHitsMetric, prometheus.CounterValue, float64(stats.Hits))
	metrics <- prometheus.MustNewConstMetric(cacheMissesMetric, prometheus.CounterValue, float64(stats.Misses))
}
