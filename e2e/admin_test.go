package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// scrape reads a page of the internal address.
func scrape(t *testing.T, url string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(page)
}

// awaitReady waits until the readiness check returns a status code and a body that contains says.
func awaitReady(t *testing.T, admin string, code int, says string) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		got, body := scrape(t, admin+"/health/ready")
		if got == code && strings.Contains(body, says) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("readiness is %d: %s, want %d and %q", got, body, code, says)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	d := startDev(t, filepath.Join(t.TempDir(), "data"))
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"seen"}]}`)
	if redirected, err := visit(t.Context(), d.base, "seen", "visitor"); err != nil || !redirected {
		t.Fatalf("redirected: %t, %v", redirected, err)
	}
	awaitReady(t, d.admin, http.StatusOK, `"projection links":"ok"`)
	if code, _ := scrape(t, d.admin+"/health/live"); code != http.StatusNoContent {
		t.Errorf("live: %d", code)
	}
	if code, _ := scrape(t, d.admin+"/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles without --profiling: %d", code)
	}
	_, metrics := scrape(t, d.admin+"/metrics")
	for _, want := range []string{
		`linkledger_projection_owned{generation="1",projection="links"} 1`,
		`linkledger_projection_lag_events{generation="1",projection="links"} `,
		`linkledger_projection_lag_seconds{generation="1",projection="tags"} 0`,
		`linkledger_projection_rate{generation="1",projection="links"} `,
		`linkledger_projection_state{generation="1",projection="tags",state="live"} 1`,
		`linkledger_projection_batch_duration_seconds_count{projection="links"} `,
		`linkledger_projection_batch_events_sum{projection="links"} `,
		`linkledger_http_request_duration_seconds_count{code="200",method="POST",route="/v3/urls"} 1`,
		`linkledger_http_request_duration_seconds_count{code="302",method="GET",route="/:hash"} 1`,
		`linkledger_eventstore_call_duration_seconds_count{call="append",outcome="ok"} `,
		`linkledger_eventstore_call_duration_seconds_count{call="head",outcome="ok"} `,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	d.interrupt()
}

// TestNotReady checks that a service is not ready while a projection that it reads is paused or has
// stopped, and that it is ready, and says what is wrong, while one event cannot be applied.
func TestNotReady(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	operator(t, folder, "projections", "pause", "tags")
	awaitReady(t, d.admin, http.StatusServiceUnavailable, `"projection tags":"paused at position`)
	operator(t, folder, "projections", "resume", "tags")
	awaitReady(t, d.admin, http.StatusOK, "ok")

	running := findRunning(t, folder)
	store := openStore(t, running.EventStore)
	defer store.Close()
	_, err := store.Append(t.Context(), eventstore.Write{ // a tag that was never created
		Stream: events.StreamTags + uuid.NewString(), Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.TagDeleted{TagID: uuid.NewString(), At: time.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitReady(t, d.admin, http.StatusOK, `"projection tags":"degraded: events that cannot be applied are set aside, of streams: 1,`)
	hasMetrics(t, d.admin, `linkledger_projection_parked_streams{generation="1",projection="tags"} 1`,
		`linkledger_projection_state{generation="1",projection="tags",state="live"} 1`)

	database, err := pgx.Connect(t.Context(), running.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close(context.WithoutCancel(t.Context()))
	if _, err := database.Exec(t.Context(), "ALTER TABLE tags_g1.tags RENAME TO gone"); err != nil {
		t.Fatal(err)
	}
	account := uuid.NewString()
	if _, err := store.Append(t.Context(), eventstore.Write{
		Stream: events.StreamTags + account, Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.TagCreated{
			TagID: uuid.NewString(), Account: account, Label: "l", At: time.Now(),
		}},
	}); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, d.admin, http.StatusServiceUnavailable, `"projection tags":"stopped at position`)
	hasMetrics(t, d.admin, `linkledger_projection_state{generation="1",projection="tags",state="stopped"} 1`,
		`linkledger_projection_lag_events{generation="1",projection="tags"} 1`,
		`linkledger_projection_retries_total{projection="tags"} `)
	d.interrupt()
}

// hasMetrics checks that the metrics of a service have lines that begin so.
func hasMetrics(t *testing.T, admin string, wanted ...string) {
	t.Helper()
	_, metrics := scrape(t, admin+"/metrics")
	for _, want := range wanted {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// TestNotReadyForLag checks that a service that does not project is not ready while no process
// keeps its projections up to date.
func TestNotReadyForLag(t *testing.T) {
	t.Parallel()
	i := install(t)
	base, admin := "http://"+freeAddress(t), "http://"+freeAddress(t)
	i.serve(base, admin, "spool 2", "--roles=api", "--ready-max-lag=1s", "--profiling")
	awaitReady(t, admin, http.StatusOK, "ok")
	if code, _ := scrape(t, admin+"/debug/pprof/"); code != http.StatusOK {
		t.Errorf("profiles: %d", code)
	}
	// A suspended owner keeps the lease of its projections until the lease expires.
	signal := func(s syscall.Signal) {
		if err := i.service.process.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	if _, err := call(
		t.Context(), base, i.key, "POST", "/urls", `{"urls":[{"long_url":"https://example.com/"}]}`,
	); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, admin, http.StatusServiceUnavailable, "lags by")
	awaitReady(t, admin, http.StatusServiceUnavailable, "no process keeps it up to date")
	signal(syscall.SIGCONT)
	awaitReady(t, admin, http.StatusOK, "ok")
}

// TestNotReadyNamesThePart stops the event store, then the database. The readiness check must
// report the part that is missing, and not the parts that depend on it.
func TestNotReadyNamesThePart(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.service.kill()
	i.network = eventstoretest.Between(t, i.storeAddress)
	i.startService()
	awaitReady(t, i.admin, http.StatusOK, `"projection links":"ok"`)
	blamed := func(part string) {
		t.Helper()
		awaitReady(t, i.admin, http.StatusServiceUnavailable, `"`+part+`":"`)
		_, body := scrape(t, i.admin+"/health/ready")
		var state map[string]string
		if err := json.Unmarshal([]byte(body), &state); err != nil {
			t.Fatal(err)
		}
		for name, says := range state {
			if ok := says == "ok" || name == "spool"; ok == (name == part) {
				t.Errorf("without the %s, %s is %q", part, name, says)
			}
		}
	}
	i.network.Cut()
	blamed("eventstore")
	i.network.Mend()
	awaitReady(t, i.admin, http.StatusOK, `"projection links":"ok"`)
	i.stopDatabase()
	blamed("database")
	i.startDatabase()
	awaitReady(t, i.admin, http.StatusOK, `"spool":"empty"`)
}

// TestNotReadyWithInvalidCheckpoint moves a checkpoint to a position without an event. The
// readiness check must report this once, and the service must repair it.
func TestNotReadyWithInvalidCheckpoint(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.service.kill()
	database := i.connectTo(i.database.DSN())
	i.exec(
		database,
		"UPDATE linkledger.generations SET commit_pos = commit_pos + 1000000, prepare_pos = prepare_pos + 1000000 "+
			"WHERE name = 'tree'",
	)
	i.startService()
	awaitReady(t, i.admin, http.StatusServiceUnavailable, `"projection tree":"misplaced`)
	_, body := scrape(t, i.admin+"/health/ready")
	if !strings.Contains(body, `"log":"lacks events of the read models of tree`) ||
		!strings.Contains(body, `"projection links":"ok"`) {
		t.Error(body)
	}
	awaitReady(t, i.admin, http.StatusOK, `"projection tree":"ok"`)
}
