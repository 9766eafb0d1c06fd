package telemetry

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"linkledger/projections"
	"linkledger/projections/engine/status"
)

// newStatusCollector exports the state of the projections in this process.
func newStatusCollector(registry *status.Registry) prometheus.Collector {
	l := labels[status.Status]{
		[]string{"projection", "generation"},
		func(s status.Status) []string {
			return []string{s.Projection, strconv.Itoa(s.Generation)}
		},
	}
	return collector[status.Status]{rows: registry.All, metrics: []metric[status.Status]{
		l.gauge("linkledger_projection_position",
			"Last commit position of the projection that this process has seen.",
			func(s status.Status) float64 { return float64(s.Position.Commit) }),
		l.counter("linkledger_projection_events_total", "Events that this process applied.",
			func(s status.Status) float64 { return float64(s.Events) }),
		l.gauge("linkledger_projection_failing", "1 while the projection fails.",
			func(s status.Status) float64 { return boolValue(s.Err != nil) }),
		l.gauge("linkledger_projection_stopped",
			"1 while the projection is stopped, because its batches fail in a way that will not "+
				"end by itself.",
			func(s status.Status) float64 { return boolValue(s.Stopped) }),
		l.counter("linkledger_projection_set_aside_total",
			"Events that this process set aside as dead letters.",
			func(s status.Status) float64 { return float64(s.SetAside) }),
		l.gauge("linkledger_projection_parked_streams",
			"Streams with events that cannot be applied and are set aside as dead letters, as "+
				"the owner knows them.",
			func(s status.Status) float64 { return float64(s.Parked) }),
		l.counter("linkledger_projection_skipped_total",
			"Events of the event store itself in streams of Linkledger, such as tombstones, that "+
				"this process skipped.",
			func(s status.Status) float64 { return float64(s.Skipped) }),
		l.gauge("linkledger_projection_owned",
			"1 while this process keeps the projection up to date, 0 while it is on standby.",
			func(s status.Status) float64 { return boolValue(s.Owned) }),
	}}
}

// scrapeTimeout bounds the queries of one scrape.
const scrapeTimeout = 2 * time.Second

// newOverviewCollector exports the state of the projections in all processes, as operators see it.
// It exports nothing if the database or the event store does not answer.
func newOverviewCollector(s Sources) prometheus.Collector {
	l := labels[status.Overview]{
		[]string{"projection", "generation"},
		func(o status.Overview) []string { return []string{o.Name, strconv.Itoa(o.Generation)} },
	}
	withState := labels[status.Overview]{
		append(l.names, "state"),
		func(o status.Overview) []string { return append(l.of(o), string(o.State)) },
	}
	return collector[status.Overview]{rows: s.overviews, metrics: []metric[status.Overview]{
		l.gauge("linkledger_projection_lag_events",
			"Events of the log that are still to be applied.",
			func(o status.Overview) float64 { return float64(o.LagEvents) }),
		l.gauge("linkledger_projection_lag_seconds",
			"Age of the oldest event that is still to be applied; 0 if there is none.",
			func(o status.Overview) float64 { return o.Lag.Seconds() }),
		l.gauge("linkledger_projection_rate",
			"Events per second that the owner has applied recently.",
			func(o status.Overview) float64 { return o.Rate }),
		withState.gauge("linkledger_projection_state",
			"1 for the state that the projection is in.",
			func(status.Overview) float64 { return 1 }),
	}}
}

func (s Sources) overviews() []status.Overview {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	overviews, err := status.Overviews(ctx, projections.All(), s.DB, s.Store)
	if err != nil {
		s.Logger.DebugContext(ctx, "lag of the projections not known", slog.Any("error", err))
		return nil
	}
	return overviews
}
