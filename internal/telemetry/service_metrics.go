package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"linkledger/commands/clicks"
	"linkledger/events/eventstore"
	"linkledger/projections/connection"
	"linkledger/queries/cache"
)

// newRedirectsCollector exports the state of the cache of redirects.
func newRedirectsCollector(redirects *cache.Redirects) prometheus.Collector {
	type stats = cache.RedirectsStats
	l := unlabelled[stats]()
	return collector[stats]{rows: one(redirects.Stats), metrics: []metric[stats]{
		l.gauge("linkledger_targets_bytes", "Memory of the cached targets of short links.",
			func(s stats) float64 { return float64(s.Bytes) }),
		l.gauge("linkledger_targets_entries", "Hashes whose targets are cached.",
			func(s stats) float64 { return float64(s.Entries) }),
		l.counter("linkledger_targets_hits_total",
			"Look-ups of a target in the cache that found it.",
			func(s stats) float64 { return float64(s.Hits) }),
		l.counter("linkledger_targets_misses_total",
			"Look-ups of a target in the cache that did not find it.",
			func(s stats) float64 { return float64(s.Misses) }),
	}}
}

// newClicksCollector exports how many clicks were recorded, spooled and lost, and the state of the
// spool.
func newClicksCollector(recorder *clicks.Recorder) prometheus.Collector {
	type stats = clicks.Stats
	l := unlabelled[stats]()
	return collector[stats]{rows: one(recorder.Stats), metrics: []metric[stats]{
		l.counter("linkledger_clicks_recorded_total",
			"Clicks that this process wrote to the event store.",
			func(s stats) float64 { return float64(s.Recorded) }),
		l.counter("linkledger_clicks_spooled_total",
			"Clicks that went to the spool because the event store was slow or unavailable.",
			func(s stats) float64 { return float64(s.Spooled) }),
		l.counter("linkledger_clicks_lost_total",
			"Clicks that neither the event store nor the spool could take.",
			func(s stats) float64 { return float64(s.Lost) }),
		l.counter("linkledger_spool_drained_total",
			"Clicks that have left the spool for the event store.",
			func(s stats) float64 { return float64(s.Drained) }),
		l.gauge("linkledger_spool_records", "Groups of clicks in the spool.",
			func(s stats) float64 { return float64(s.Backlog.Groups) }),
		l.gauge("linkledger_spool_clicks", "Clicks in the spool.",
			func(s stats) float64 { return float64(s.Backlog.Clicks) }),
		l.gauge("linkledger_spool_bytes", "Size of the spool on disk.",
			func(s stats) float64 { return float64(s.Backlog.Bytes) }),
		l.gauge("linkledger_spool_age_seconds",
			"Age of the oldest clicks in the spool; 0 when it is empty.",
			func(s stats) float64 { return s.Backlog.Age.Seconds() }),
		l.gauge("linkledger_spool_drain_rate",
			"Recent clicks per second that leave the spool; 0 when it is empty.",
			func(s stats) float64 { return s.Backlog.Rate }),
		l.gauge("linkledger_spool_left_seconds",
			"Time until the spool is empty at the recent rate; 0 when it is empty or does not "+
				"shrink.",
			func(s stats) float64 { return s.Backlog.Left.Seconds() }),
	}}
}

// disk is a disk that a service writes to.
type disk struct {
	name    string
	refuses bool
}

// newDisksCollector exports which disks take no writes.
func newDisksCollector(
	store *eventstore.Store, recorder *clicks.Recorder, database *connection.Disk,
) prometheus.Collector {
	l := labels[disk]{
		names: []string{"disk"}, of: func(d disk) []string { return []string{d.name} },
	}
	rows := func() []disk {
		return []disk{
			{"eventstore", store.Refuses()},
			{"spool", recorder.SpoolTrouble() != nil},
			{"database", database.Trouble() != nil},
		}
	}
	return collector[disk]{rows: rows, metrics: []metric[disk]{
		l.gauge("linkledger_disk_refuses_writes",
			"1 if the disk is full or has failed, so that it takes no writes, as far as this "+
				"process has seen.",
			func(d disk) float64 { return boolValue(d.refuses) }),
	}}
}

// newLogCollector exports how many lines of output are lost.
func newLogCollector(lost func() uint64) prometheus.Collector {
	return collector[uint64]{rows: one(lost), metrics: []metric[uint64]{
		unlabelled[uint64]().counter("linkledger_log_lines_lost_total",
			"Lines that could not be written to standard output and error: no program reads them, "+
				"or the disk is full.",
			func(lines uint64) float64 { return float64(lines) }),
	}}
}

// newBackupCollector exports the age of the newest backup, if there is one.
func newBackupCollector(newest func() (time.Duration, bool)) prometheus.Collector {
	rows := func() []time.Duration {
		if newest == nil {
			return nil
		}
		if age, known := newest(); known {
			return []time.Duration{age}
		}
		return nil
	}
	return collector[time.Duration]{rows: rows, metrics: []metric[time.Duration]{
		unlabelled[time.Duration]().gauge("linkledger_backup_age_seconds",
			"How old the newest backup is: what was made since then is lost with the disks.",
			time.Duration.Seconds),
	}}
}

// unlabelled returns the labels of metrics that have none.
func unlabelled[R any]() labels[R] {
	return labels[R]{of: func(R) []string { return nil }}
}

// one returns the rows of a source that has a single row.
func one[R any](read func() R) func() []R { return func() []R { return []R{read()} } }
