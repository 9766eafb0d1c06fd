package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"linkledger/commands/clicks"
	"linkledger/internal/admin"
	"linkledger/internal/clockcheck"
	"linkledger/internal/installation/installationtest"
	"linkledger/projections"
	"linkledger/projections/connection"
	"linkledger/projections/engine/status"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

// address is the internal address of a test.
type address struct {
	*admin.Server

	t testing.TB
}

func serve(t *testing.T) address {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := address{admin.Serve(listener, slog.New(slog.DiscardHandler)), t}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// get asks for a path. It returns the state of each part, if the answer has it.
func (a address) get(path string) (code int, parts map[string]string) {
	a.t.Helper()
	recorder := httptest.NewRecorder()
	a.ServeHTTP(recorder, httptest.NewRequestWithContext(a.t.Context(), http.MethodGet, path, nil))
	if strings.HasPrefix(recorder.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(recorder.Body.Bytes(), &parts); err != nil {
			a.t.Fatal(err)
		}
	}
	return recorder.Code, parts
}

// becomes asks a probe until it answers with a code and a part that says something.
func (a address) becomes(probe string, code int, part, says string) map[string]string {
	a.t.Helper()
	for ctx := installationtest.WithTimeout(a.t); ; {
		got, parts := a.get("/health/ready" + probe)
		if got == code && strings.Contains(parts[part], says) {
			return parts
		}
		if ctx.Err() != nil {
			a.t.Fatalf("%q answers %d %v; want %d and %s: %q", probe, got, parts, code, part, says)
		}
	}
}

// newService returns what the internal address shows of an installation whose read models are complete.
func newService(t *testing.T, i *installationtest.Installation) *admin.Service {
	t.Helper()
	served := make(chan struct{})
	close(served)
	return &admin.Service{
		Stopping: t.Context(), Store: i.Store, DB: i.DB, Disk: &connection.Disk{}, Projections: &status.Registry{},
		Clicks: clicks.New(clicks.Config{Store: i.Store}), API: true, Spooled: true, Served: served, MaxLag: time.Minute,
		SignIn:  func() (error, bool) { return nil, false },
		Metrics: http.NotFoundHandler(), Console: http.NotFoundHandler(), Building: func() bool { return false },
		Clocks: clockcheck.New(slog.New(slog.DiscardHandler), time.Now), Logger: slog.New(slog.DiscardHandler),
	}
}

// TestStart checks what the address answers before there is a service.
func TestStart(t *testing.T) {
	t.Parallel()
	a := serve(t)
	a.becomes("", http.StatusServiceUnavailable, "process", "starting")
	a.ReportDependency("database", errors.New("no answer"))
	a.becomes("/reads", http.StatusServiceUnavailable, "database", "no answer")
	a.ReportDependency("database", nil)
	if _, parts := a.get("/health/ready"); parts["database"] != "" || len(parts) != 1 {
		t.Errorf("after the answer of the database: %v", parts)
	}
	if code, _ := a.get("/health/live"); code != http.StatusNoContent {
		t.Errorf("a start is live: %d", code)
	}
}

// TestReady checks the probes of a service whose parts fail one after the other.
func TestReady(t *testing.T) {
	t.Parallel()
	i, a := installationtest.New(t), serve(t)
	s := newService(t, i)
	a.SetService(s)
	for _, probe := range []string{"", "/redirects", "/reads", "/writes"} {
		for part, says := range a.becomes(probe, http.StatusOK, "process", "ok") {
			if says != "ok" && part != "spool" {
				t.Errorf("%q says %s: %s", probe, part, says)
			}
		}
	}
	if code, _ := a.get("/health/live"); code != http.StatusNoContent {
		t.Errorf("a service is live: %d", code)
	}
	if code, _ := a.get("/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles that are not asked for: %d", code)
	}
	if err := projections.Pause(t.Context(), i.DB, projections.Tags); err != nil {
		t.Fatal(err)
	}
	a.becomes("", http.StatusServiceUnavailable, "projection tags", "paused at position")
	a.becomes("/reads", http.StatusServiceUnavailable, "projection tags", "by an operator")
	a.becomes("/redirects", http.StatusOK, "process", "ok")
	if err := projections.Resume(t.Context(), i.DB, projections.Tags); err != nil {
		t.Fatal(err)
	}
	a.becomes("", http.StatusOK, "projection tags", "ok")
	i.Poison()
	a.becomes("", http.StatusOK, "projection tags",
		"degraded: events that cannot be applied are set aside, of streams: 1, first of tags-")
	i.StopProjections()
	a.becomes("", http.StatusServiceUnavailable, "projection links", "no process keeps it up to date")
	i.Events.Stop()
	parts := a.becomes("/writes", http.StatusServiceUnavailable, "eventstore", "")
	if parts["eventstore"] == "ok" || parts["database"] != "ok" {
		t.Errorf("without the event store: %v", parts)
	}
}

// TestRoles checks probes of a service that stops, builds, or lacks a role.
func TestRoles(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	stopped, stop := context.WithCancelCause(t.Context())
	stop(nil)
	for name, tc := range map[string]struct {
		change            func(*admin.Service)
		probe, part, says string
		code              int
	}{
		"stopping": {func(s *admin.Service) { s.Stopping = stopped }, "", "process", "canceled", http.StatusServiceUnavailable},
		"building": {
			func(s *admin.Service) { s.Building = func() bool { return true } }, "/redirects", "process",
			"are built from the log", http.StatusServiceUnavailable,
		},
		"tables": {
			func(s *admin.Service) { s.Served = make(chan struct{}) }, "/redirects", "process", "in the form of this version",
			http.StatusServiceUnavailable,
		},
		"no redirects": {
			func(s *admin.Service) { s.Spooled = false }, "/redirects", "process", "has another role", http.StatusServiceUnavailable,
		},
		"no reads": {
			func(s *admin.Service) { s.API = false }, "/reads", "process", "has another role", http.StatusServiceUnavailable,
		},
		"no writes": {
			func(s *admin.Service) { s.API = false }, "/writes", "process", "has another role", http.StatusServiceUnavailable,
		},
		"all but the API": {func(s *admin.Service) { s.API = false }, "", "process", "ok", http.StatusOK},
		"sign-in": {
			func(s *admin.Service) { s.SignIn = func() (error, bool) { return errors.New("no\nissuer"), true } }, "", "sign-in",
			"degraded: no; issuer", http.StatusOK,
		},
		"sign-in works": {
			func(s *admin.Service) { s.SignIn = func() (error, bool) { return nil, true } }, "", "sign-in", "ok", http.StatusOK,
		},
		"backup": {func(s *admin.Service) { s.Backup = func() string { return "one\ntwo" } }, "", "backup", "one; two", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, s := serve(t), newService(t, i)
			tc.change(s)
			a.SetService(s)
			a.becomes(tc.probe, tc.code, tc.part, tc.says)
		})
	}
}

// TestHealth asks a service by its address.
func TestHealth(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := admin.Serve(listener, slog.New(slog.DiscardHandler))
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"", "0.0.0.0", "127.0.0.1"} {
		at := net.JoinHostPort(host, port)
		if _, err := admin.Health(t.Context(), at, false); err == nil || !strings.Contains(err.Error(), `not ready: {"process":"starting"}`) {
			t.Errorf("%s is ready: %v", at, err)
		}
		if out, err := admin.Health(t.Context(), at, true); err != nil || len(out) > 0 {
			t.Errorf("%s is not live: %s, %v", at, out, err)
		}
	}
	if _, err := admin.Health(t.Context(), "here", true); err == nil {
		t.Error("an address without a port is asked")
	}
	http.DefaultClient.CloseIdleConnections()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
