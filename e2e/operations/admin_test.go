package operations_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	d := e2etest.StartDev(t, filepath.Join(t.TempDir(), "data"))
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"seen"}]}`)
	if redirected, err := e2etest.Visit(t.Context(), d.Base, "seen", "visitor"); err != nil || !redirected {
		t.Fatalf("redirected: %t, %v", redirected, err)
	}
	e2etest.AwaitReady(t, d.Admin, http.StatusOK, `"projection links":"ok"`)
	if code, _ := e2etest.Scrape(t, d.Admin+"/health/live"); code != http.StatusNoContent {
		t.Errorf("live: %d", code)
	}
	if code, _ := e2etest.Scrape(t, d.Admin+"/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles without --profiling: %d", code)
	}
	_, metrics := e2etest.Scrape(t, d.Admin+"/metrics")
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
	d.Interrupt()
}

// TestNotReady checks that a service is not ready while a projection that it reads is paused or has
// stopped, and that it is ready, and says what is wrong, while one event cannot be applied.
func TestNotReady(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	e2etest.Operator(t, folder, "projections", "pause", "tags")
	e2etest.AwaitReady(t, d.Admin, http.StatusServiceUnavailable, `"projection tags":"paused at position`)
	e2etest.Operator(t, folder, "projections", "resume", "tags")
	e2etest.AwaitReady(t, d.Admin, http.StatusOK, "ok")

	running := e2etest.FindRunning(t, folder)
	store := e2etest.OpenStore(t, running.EventStore)
	defer store.Close()
	_, err := store.Append(t.Context(), eventstore.Write{ // a tag that was never created
		Stream: events.StreamTags + uuid.NewString(), Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.TagDeleted{TagID: uuid.NewString(), At: time.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e2etest.AwaitReady(t, d.Admin, http.StatusOK, `"projection tags":"degraded: events that cannot be applied are set aside, of streams: 1,`)
	hasMetrics(t, d.Admin, `linkledger_projection_parked_streams{generation="1",projection="tags"} 1`,
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
	e2etest.AwaitReady(t, d.Admin, http.StatusServiceUnavailable, `"projection tags":"stopped at position`)
	hasMetrics(t, d.Admin, `linkledger_projection_state{generation="1",projection="tags",state="stopped"} 1`,
		`linkledger_projection_lag_events{generation="1",projection="tags"} 1`,
		`linkledger_projection_retries_total{projection="tags"} `)
	d.Interrupt()
}

// hasMetrics checks that the metrics of a service have lines that begin so.
func hasMetrics(t *testing.T, admin string, wanted ...string) {
	t.Helper()
	_, metrics := e2etest.Scrape(t, admin+"/metrics")
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
	i := installtest.Install(t)
	base, admin := "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t)
	i.Serve(base, admin, "spool 2", "--roles=api", "--ready-max-lag=1s", "--profiling")
	e2etest.AwaitReady(t, admin, http.StatusOK, "ok")
	if code, _ := e2etest.Scrape(t, admin+"/debug/pprof/"); code != http.StatusOK {
		t.Errorf("profiles: %d", code)
	}
	// A suspended owner keeps the lease of its projections until the lease expires.
	signal := func(s syscall.Signal) {
		if err := i.Service.Process.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	if _, err := e2etest.Call(
		t.Context(), base, i.Key, "POST", "/urls", `{"urls":[{"long_url":"https://example.com/"}]}`,
	); err != nil {
		t.Fatal(err)
	}
	e2etest.AwaitReady(t, admin, http.StatusServiceUnavailable, "lags by")
	e2etest.AwaitReady(t, admin, http.StatusServiceUnavailable, "no process keeps it up to date")
	signal(syscall.SIGCONT)
	e2etest.AwaitReady(t, admin, http.StatusOK, "ok")
}

// TestNotReadyNamesThePart stops the event store, then the database. The readiness check must
// report the part that is missing, and not the parts that depend on it.
func TestNotReadyNamesThePart(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	i.Service.Kill()
	i.Network = eventstoretest.Between(t, i.StoreAddress)
	i.StartService()
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, `"projection links":"ok"`)
	blamed := func(part string) {
		t.Helper()
		e2etest.AwaitReady(t, i.Admin, http.StatusServiceUnavailable, `"`+part+`":"`)
		_, body := e2etest.Scrape(t, i.Admin+"/health/ready")
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
	i.Network.Cut()
	blamed("eventstore")
	i.Network.Mend()
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, `"projection links":"ok"`)
	i.StopDatabase()
	blamed("database")
	i.StartDatabase()
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, `"spool":"empty"`)
}

// TestNotReadyWithInvalidCheckpoint moves a checkpoint to a position without an event. The
// readiness check must report this once, and the service must repair it.
func TestNotReadyWithInvalidCheckpoint(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	i.Service.Kill()
	database := i.ConnectTo(i.Database.DSN())
	i.Exec(
		database,
		"UPDATE linkledger.generations SET commit_pos = commit_pos + 1000000, prepare_pos = prepare_pos + 1000000 "+
			"WHERE name = 'tree'",
	)
	i.StartService()
	e2etest.AwaitReady(
		t, i.Admin, http.StatusServiceUnavailable, `"projection tree":"misplaced`,
		`"log":"lacks events of the read models of tree`, `"projection links":"ok"`,
	)
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, `"projection tree":"ok"`)
}
