package telemetry_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"linkledger/commands/clicks"
	"linkledger/events/eventstore"
	"linkledger/internal/installation/installationtest"
	"linkledger/internal/telemetry"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/connection"
	"linkledger/projections/engine/status"
	"linkledger/queries"
	"linkledger/queries/cache"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

// scrape returns the lines of a scrape.
func scrape(t *testing.T, handler http.Handler) map[string]bool {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(recorder.Body)
	if err != nil || recorder.Code != http.StatusOK {
		t.Fatal(recorder.Code, err)
	}
	lines := make(map[string]bool)
	for line := range strings.Lines(string(body)) {
		lines[strings.TrimSpace(line)] = true
	}
	return lines
}

func has(t *testing.T, lines map[string]bool, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !lines[want] {
			name, _, _ := strings.Cut(want, "{")
			t.Errorf("no line %s", want)
			for line := range lines {
				if strings.HasPrefix(line, name) {
					t.Logf("but %s", line)
				}
			}
		}
	}
}

// sources returns the sources of an installation.
func sources(t *testing.T, i *installationtest.Installation) telemetry.Sources {
	t.Helper()
	redirects, err := cache.NewRedirects(queries.New(i.DB), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return telemetry.Sources{
		Projections: &status.Registry{}, Redirects: redirects, Clicks: clicks.New(clicks.Config{Store: i.Store}), DB: i.DB,
		Disk: &connection.Disk{}, Store: i.Store, Logger: slog.New(slog.DiscardHandler), LostLines: func() uint64 { return 3 },
	}
}

// TestMetrics scrapes a service that has done one thing of each kind.
func TestMetrics(t *testing.T) {
	t.Parallel()
	i, m := installationtest.New(t), telemetry.NewMetrics()
	s := sources(t, i)
	m.Request("GET", "", 404, time.Second)
	m.Request("POST", "/v3/urls", 200, time.Second)
	m.Login("key")
	m.Call("append", time.Second, nil)
	m.Call("append", time.Second, eventstore.ErrUnavailable)
	m.Call("append", time.Second, errors.New("no"))
	m.Batch("links", 7, time.Second, nil)
	m.Batch("links", 7, time.Second, errors.New("no"))
	stream := i.Poison()
	if err := projections.Pause(t.Context(), i.DB, projections.Links); err != nil {
		t.Fatal(err)
	}
	handler := m.Handler(s)
	has(t, scrape(t, handler),
		`linkledger_http_request_duration_seconds_count{code="404",method="GET",route="none"} 1`,
		`linkledger_http_request_duration_seconds_sum{code="200",method="POST",route="/v3/urls"} 1`,
		`linkledger_login_failures_total{reason="key"} 1`,
		`linkledger_eventstore_call_duration_seconds_count{call="append",outcome="ok"} 1`,
		`linkledger_eventstore_call_duration_seconds_count{call="append",outcome="unavailable"} 1`,
		`linkledger_eventstore_call_duration_seconds_count{call="append",outcome="refused"} 1`,
		`linkledger_projection_batch_duration_seconds_count{projection="links"} 1`,
		`linkledger_projection_batch_events_sum{projection="links"} 7`,
		`linkledger_projection_retries_total{projection="links"} 1`,
		`linkledger_projection_state{generation="1",projection="links",state="paused"} 1`,
		`linkledger_projection_state{generation="1",projection="tags",state="live"} 1`,
		`linkledger_projection_lag_events{generation="1",projection="tags"} 0`,
		`linkledger_projection_lag_seconds{generation="1",projection="tags"} 0`,
		`linkledger_disk_refuses_writes{disk="eventstore"} 0`, `linkledger_disk_refuses_writes{disk="spool"} 0`,
		`linkledger_disk_refuses_writes{disk="database"} 0`,
		`linkledger_log_lines_lost_total 3`, `linkledger_clicks_recorded_total 0`, `linkledger_targets_entries 0`,
		`# TYPE linkledger_clicks_recorded_total counter`, `# TYPE linkledger_spool_bytes gauge`,
	)
	for line := range scrape(t, handler) {
		if strings.Contains(line, "linkledger_backup_age_seconds") || strings.Contains(line, stream) {
			t.Errorf("a scrape has %s", line)
		}
	}
	i.Events.Stop()
	for line := range scrape(t, handler) {
		if strings.HasPrefix(line, "linkledger_projection_state{") {
			t.Errorf("without the event store the state is known: %s", line)
		}
	}
}

// TestBackupAge checks that the metrics have the age of a backup if there is one.
func TestBackupAge(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	for name, tc := range map[string]struct {
		known bool
		want  int
	}{"known": {true, 1}, "none": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := sources(t, i), 0
			s.BackupAge = func() (time.Duration, bool) { return time.Minute, tc.known }
			if scrape(t, telemetry.NewMetrics().Handler(s))["linkledger_backup_age_seconds 60"] {
				n++
			}
			if n != tc.want {
				t.Errorf("%d ages; want %d", n, tc.want)
			}
		})
	}
}

// TestTraces checks which receivers are refused, and that there are no traces without one.
func TestTraces(t *testing.T) {
	t.Parallel()
	if tracer := (telemetry.Traces{}).Tracer(); tracer != nil {
		t.Error("the zero value traces")
	}
	telemetry.Traces{}.Close()
	for name, tc := range map[string]struct {
		variable, value string
		refused         bool
	}{
		"default": {"X", "", false}, "grpc": {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", false},
		"http":   {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", true},
		"traces": {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			traces, err := telemetry.OpenTraces(t.Context(), func(name string) string {
				if name == tc.variable {
					return tc.value
				}
				return ""
			}, "v1.2.3", slog.New(slog.DiscardHandler))
			if (err != nil) != tc.refused || tc.refused && (!usage.Is(err) || !strings.Contains(err.Error(), "supports grpc only")) {
				t.Fatalf("refused: %v", err)
			}
			if (traces.Tracer() == nil) != tc.refused {
				t.Errorf("traces: %v", traces.Tracer())
			}
			traces.Close()
		})
	}
}
