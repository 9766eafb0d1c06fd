package telemetry

import "github.com/prometheus/client_golang/prometheus"

// collector exports metrics of the rows of a source. It reads the rows once per scrape, so that the
// values of a scrape belong together. Function collectors would read the source for each metric.
type collector[R any] struct {
	rows    func() []R
	metrics []metric[R]
}

// metric is a value of each row.
type metric[R any] struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	value  func(R) float64
	labels func(R) []string
}

// labels are the labels of the metrics of a collector, and their values in a row.
type labels[R any] struct {
	names []string
	of    func(R) []string
}

// gauge returns a metric that rises and falls.
func (l labels[R]) gauge(name, help string, value func(R) float64) metric[R] {
	return metric[R]{
		prometheus.NewDesc(name, help, l.names, nil), prometheus.GaugeValue, value, l.of,
	}
}

// counter returns a metric that only rises.
func (l labels[R]) counter(name, help string, value func(R) float64) metric[R] {
	m := l.gauge(name, help, value)
	m.kind = prometheus.CounterValue
	return m
}

// Describe implements prometheus.Collector.
func (c collector[R]) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		descs <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c collector[R]) Collect(values chan<- prometheus.Metric) {
	for _, row := range c.rows() {
		for _, m := range c.metrics {
			values <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(row), m.labels(row)...)
		}
	}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
