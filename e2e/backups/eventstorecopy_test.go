package backups_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
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
	"linkledger/projections"
)

// TestMoveToAnotherEventStore moves an installation to another event store. The copy is killed
// halfway and resumed while the service runs, and completed after the service has stopped. A
// service on the copy with a new database must give the same responses as the old one. With the old
// database it must refuse to start.
func TestMoveToAnotherEventStore(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t, "--base-url=https://sho.rt")
	writeHistory(i)
	from := "esdb://" + i.StoreAddress + "?tls=false"
	ballast(t, from, 60_000)
	target := e2etest.StartStore(t, filepath.Join(t.TempDir(), "events"))
	copying := []string{"eventstore", "copy", "--from", from, "--to", target.URL}
	killHalfWay(i, copying, target.URL)
	if out, log, code := e2etest.Command(t, append(copying, "--check")...); code != e2etest.ExitFailed ||
		!strings.Contains(log, "the copy is not complete") {
		t.Errorf("the check of half a copy ended with %d: %s%s", code, out, log)
	}
	out, log, code := e2etest.Command(t, append(copying, "--json")...)
	var first e2etest.CopiedLog
	if err := json.Unmarshal([]byte(out), &first); err != nil || code != 0 || first.New == 0 ||
		first.New == first.Events {
		t.Fatalf("the resumed copy ended with %d: %s%s", code, out, log)
	}
	i.Call("PATCH", "/urls/kept", `{"urls":[{"note":"the last edit"}]}`)
	before := responsesOf(i, i.Base, i.Backends())
	database := i.ConnectTo(i.Database.DSN())
	i.Eventually("the database knows its log", func() bool {
		var known bool
		return database.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM linkledger.log)").Scan(&known) == nil && known
	})
	stopService(i)
	if out, log, code := e2etest.Command(t, copying...); code != 0 ||
		!strings.Contains(out, " are the same in both: hash chain ") {
		t.Fatalf("the last copy ended with %d: %s%s", code, out, log)
	}
	if out, log, code := e2etest.Command(t, append(copying, "--check")...); code != 0 ||
		!strings.Contains(out, " 0 of them new, are the same") {
		t.Errorf("the check of the copy ended with %d: %s%s", code, out, log)
	}

	serve := []string{
		"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--spool", t.TempDir(), "--log-level=error",
		"--eventstore", target.URL, "--database",
	}
	if out, log, code := e2etest.Command(t, append(serve, i.Database.DSN())...); code != e2etest.ExitUsage ||
		!strings.Contains(log, "belongs to another log") {
		t.Errorf("serve with the old database ended with %d: %s%s", code, out, log)
	}
	second := secondDatabase(i, database)
	service, base := movedTo(i, target.URL, second)
	answersAsBefore(i, base, []string{"--eventstore", target.URL, "--database", second}, before)
	service.Kill()
}

// awaitCaughtUp waits until all projections have all of the log: a service is ready while they lack what was recorded in
// the last seconds.
func awaitCaughtUp(i *installtest.Installation, backends []string) {
	i.T.Helper()
	i.Eventually("the projections have caught up", func() bool {
		out, _, code := e2etest.Command(i.T, append([]string{"projections", "status", "--json"}, backends...)...)
		return code == 0 && strings.Count(out, `"lag_events":0`) == len(projections.Names())
	})
}

// answersAsBefore checks that a service has the same responses as before it got another database,
// and that it knows the visitor of writeHistory.
func answersAsBefore(i *installtest.Installation, base string, backends []string, before map[string]any) {
	t := i.T
	t.Helper()
	awaitCaughtUp(i, backends)
	after := responsesOf(i, base, backends)
	for what, want := range before {
		if got := after[what]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: now\n%v\nbefore\n%v", what, got, want)
		}
	}
	if redirected, err := e2etest.Visit(t.Context(), base, "kept", "known visitor"); err != nil || !redirected {
		t.Fatalf("redirected: %t, %v", redirected, err)
	}
	answer, err := e2etest.Call(t.Context(), base, i.Key, "GET", "/stats/kept", "")
	if err != nil {
		t.Fatal(err)
	}
	if stats := answer["stats"].([]any)[0].(map[string]any); stats["total_clicks"] != 2.0 ||
		stats["unique_clicks"] != 1.0 {
		t.Errorf("after another click of a known visitor: %v", stats)
	}
}

// stopService stops the service, which drains its spool before it ends.
func stopService(i *installtest.Installation) {
	i.T.Helper()
	if err := i.Service.Process.Process.Signal(syscall.SIGTERM); err != nil {
		i.T.Fatal(err)
	}
	<-i.Service.Ended
}

// writeHistory creates one link, and another one that is renamed and deleted.
func writeHistory(i *installtest.Installation) {
	i.T.Helper()
	i.Eventually("the account is known", func() bool { return i.Clicks() == 0 })
	i.Call(
		"POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/1","custom_hash":"kept","tags":["t"]},{"long_url":"https://example.com/2","custom_hash":"old"}]}`,
	)
	i.Call("PATCH", "/urls/kept", `{"urls":[{"note":"n","tags":["+u"]}]}`)
	i.Call("PATCH", "/urls/old", `{"urls":[{"custom_hash":"new"}]}`)
	i.Call("DELETE", "/urls/new", "")
	for _, reset := range []bool{true, false} {
		if redirected, err := e2etest.Visit(i.T.Context(), i.Base, "kept", "known visitor"); err != nil || !redirected {
			i.T.Fatalf("redirected: %t, %v", redirected, err)
		}
		i.Eventually("the click is counted", func() bool { return i.Clicks() == 1 })
		if reset {
			i.Call("DELETE", "/stats/kept", "")
		}
	}
}

// ballast appends events that no projection reads.
func ballast(t *testing.T, url string, n int) {
	t.Helper()
	store := e2etest.OpenStore(t, url)
	defer store.Close()
	metered := make([]events.Event, 100)
	for i := range metered {
		metered[i] = events.CallsMetered{Calls: int64(i), Day: "2026-01-31", At: time.Now()}
	}
	for at := range n / len(metered) {
		_, err := store.Append(t.Context(), eventstore.Write{
			Stream: fmt.Sprint(events.StreamUsage, "ballast-", at), Expected: eventstore.NoStream, Command: uuid.New(),
			Events: metered,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// killHalfWay starts a copy and kills it as soon as the target has a part of the log.
func killHalfWay(i *installtest.Installation, copying []string, target string) {
	i.T.Helper()
	store := e2etest.OpenStore(i.T, target)
	defer store.Close()
	empty, err := store.Head(i.T.Context())
	if err != nil {
		i.T.Fatal(err)
	}
	process := installtest.StartChild(i.T, e2etest.Program, copying...)
	i.Eventually("something is copied", func() bool {
		head, err := store.Head(i.T.Context())
		return err == nil && head.After(empty)
	})
	process.Kill()
	if process.Process.ProcessState.Success() {
		i.T.Fatal("the copy had ended before it was killed")
	}
}

// responsesOf returns the responses of the API and of the audit commands, without positions.
func responsesOf(i *installtest.Installation, base string, backends []string) map[string]any {
	i.T.Helper()
	responses := make(map[string]any)
	for _, path := range []string{
		"/urls?order_by=hash", "/urls?tags=%2Bt%26%2Bu", "/stats/kept", "/tags", "/urls/new/history",
	} {
		answer, err := e2etest.Call(i.T.Context(), base, i.Key, "GET", path, "")
		if err != nil {
			i.T.Fatal(err)
		}
		responses[path] = withoutPositions(answer)
	}
	for _, audit := range [][]string{
		{"history", "kept", "--format=json", "--clicks"},
		{"history", "old", "--format=json"},
		{"at", "kept", "--json", "--time", "2999-01-01"},
	} {
		out, log, code := e2etest.Command(i.T, append(append([]string{"audit"}, audit...), backends...)...)
		var answer any
		if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 {
			i.T.Fatalf("audit %v ended with %d: %s%s", audit, code, out, log)
		}
		responses[strings.Join(audit, " ")] = withoutPositions(answer)
	}
	return responses
}

// withoutPositions removes the positions of events from a decoded response.
func withoutPositions(value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "position")
		for _, field := range value {
			withoutPositions(field)
		}
	case []any:
		for _, item := range value {
			withoutPositions(item)
		}
	}
	return value
}

// secondDatabase creates a database that has only the keys of the first.
func secondDatabase(i *installtest.Installation, first *pgx.Conn) string {
	i.T.Helper()
	var name string
	if err := first.QueryRow(i.T.Context(), "SELECT quote_ident(current_database())").Scan(&name); err != nil {
		i.T.Fatal(err)
	}
	i.Exec(first, "CREATE DATABASE moved TEMPLATE "+name)
	u, err := url.Parse(i.Database.DSN())
	if err != nil {
		i.T.Fatal(err)
	}
	u.Path = "/moved"
	i.Exec(i.ConnectTo(u.String()), "DROP SCHEMA linkledger CASCADE")
	return u.String()
}

// movedTo starts a service on the copy.
func movedTo(i *installtest.Installation, store, database string) (*installtest.Child, string) {
	i.T.Helper()
	base, admin := "http://"+installtest.FreeAddress(i.T), "http://"+installtest.FreeAddress(i.T)
	service := installtest.StartChild(i.T, e2etest.Program, "serve", "--listen", base[len(
		"http://",
	):], "--admin-listen", admin[len("http://"):],
		"--spool", i.T.TempDir(), "--eventstore", store, "--database", database, "--base-url=https://sho.rt")
	return service, base
}
