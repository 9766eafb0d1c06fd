package e2e

import (
	"context"
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
	i := install(t, "--base-url=https://sho.rt")
	writeHistory(i)
	from := "esdb://" + i.storeAddress + "?tls=false"
	ballast(t, from, 60_000)
	target := startStore(t, filepath.Join(t.TempDir(), "events"))
	copying := []string{"eventstore", "copy", "--from", from, "--to", target.url}
	killHalfWay(i, copying, target.url)
	if out, log, code := command(t, append(copying, "--check")...); code != exitFailed ||
		!strings.Contains(log, "the copy is not complete") {
		t.Errorf("the check of half a copy ended with %d: %s%s", code, out, log)
	}
	out, log, code := command(t, append(copying, "--json")...)
	var first copiedLog
	if err := json.Unmarshal([]byte(out), &first); err != nil || code != 0 || first.New == 0 ||
		first.New == first.Events {
		t.Fatalf("the resumed copy ended with %d: %s%s", code, out, log)
	}
	i.call("PATCH", "/urls/kept", `{"urls":[{"note":"the last edit"}]}`)
	before := responsesOf(i, i.base, i.backends())
	database := i.connectTo(i.database.DSN())
	i.eventually("the database knows its log", func() bool {
		var known bool
		return database.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM linkledger.log)").Scan(&known) == nil && known
	})
	stopService(i)
	if out, log, code := command(t, copying...); code != 0 ||
		!strings.Contains(out, " are the same in both: hash chain ") {
		t.Fatalf("the last copy ended with %d: %s%s", code, out, log)
	}
	if out, log, code := command(t, append(copying, "--check")...); code != 0 ||
		!strings.Contains(out, " 0 of them new, are the same") {
		t.Errorf("the check of the copy ended with %d: %s%s", code, out, log)
	}

	serve := []string{
		"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--spool", t.TempDir(), "--log-level=error",
		"--eventstore", target.url, "--database",
	}
	if out, log, code := command(t, append(serve, i.database.DSN())...); code != exitUsage ||
		!strings.Contains(log, "belongs to another log") {
		t.Errorf("serve with the old database ended with %d: %s%s", code, out, log)
	}
	second := secondDatabase(i, database)
	service, base := movedTo(i, target.url, second)
	answersAsBefore(i, base, []string{"--eventstore", target.url, "--database", second}, before)
	service.kill()
}

// awaitCaughtUp waits until all projections have all of the log: a service is ready while they lack what was recorded in
// the last seconds.
func awaitCaughtUp(i *installation, backends []string) {
	i.t.Helper()
	i.eventually("the projections have caught up", func() bool {
		out, _, code := command(i.t, append([]string{"projections", "status", "--json"}, backends...)...)
		return code == 0 && strings.Count(out, `"lag_events":0`) == len(projections.Names())
	})
}

// answersAsBefore checks that a service has the same responses as before it got another database,
// and that it knows the visitor of writeHistory.
func answersAsBefore(i *installation, base string, backends []string, before map[string]any) {
	t := i.t
	t.Helper()
	awaitCaughtUp(i, backends)
	after := responsesOf(i, base, backends)
	for what, want := range before {
		if got := after[what]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: now\n%v\nbefore\n%v", what, got, want)
		}
	}
	if redirected, err := visit(t.Context(), base, "kept", "known visitor"); err != nil || !redirected {
		t.Fatalf("redirected: %t, %v", redirected, err)
	}
	answer, err := call(t.Context(), base, i.key, "GET", "/stats/kept", "")
	if err != nil {
		t.Fatal(err)
	}
	if stats := answer["stats"].([]any)[0].(map[string]any); stats["total_clicks"] != 2.0 ||
		stats["unique_clicks"] != 1.0 {
		t.Errorf("after another click of a known visitor: %v", stats)
	}
}

// stopService stops the service, which drains its spool before it ends.
func stopService(i *installation) {
	i.t.Helper()
	if err := i.service.process.Process.Signal(syscall.SIGTERM); err != nil {
		i.t.Fatal(err)
	}
	<-i.service.ended
}

// writeHistory creates one link, and another one that is renamed and deleted.
func writeHistory(i *installation) {
	i.t.Helper()
	i.eventually("the account is known", func() bool { return i.clicks() == 0 })
	i.call(
		"POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/1","custom_hash":"kept","tags":["t"]},{"long_url":"https://example.com/2","custom_hash":"old"}]}`,
	)
	i.call("PATCH", "/urls/kept", `{"urls":[{"note":"n","tags":["+u"]}]}`)
	i.call("PATCH", "/urls/old", `{"urls":[{"custom_hash":"new"}]}`)
	i.call("DELETE", "/urls/new", "")
	for _, reset := range []bool{true, false} {
		if redirected, err := visit(i.t.Context(), i.base, "kept", "known visitor"); err != nil || !redirected {
			i.t.Fatalf("redirected: %t, %v", redirected, err)
		}
		i.eventually("the click is counted", func() bool { return i.clicks() == 1 })
		if reset {
			i.call("DELETE", "/stats/kept", "")
		}
	}
}

func (i *installation) call(method, path, body string) {
	i.t.Helper()
	if _, err := call(i.t.Context(), i.base, i.key, method, path, body); err != nil {
		i.t.Fatal(err)
	}
}

// ballast appends events that no projection reads.
func ballast(t *testing.T, url string, n int) {
	t.Helper()
	store := openStore(t, url)
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
func killHalfWay(i *installation, copying []string, target string) {
	i.t.Helper()
	store := openStore(i.t, target)
	defer store.Close()
	empty, err := store.Head(i.t.Context())
	if err != nil {
		i.t.Fatal(err)
	}
	process := startChild(i.t, program, copying...)
	i.eventually("something is copied", func() bool {
		head, err := store.Head(i.t.Context())
		return err == nil && head.After(empty)
	})
	process.kill()
	if process.process.ProcessState.Success() {
		i.t.Fatal("the copy had ended before it was killed")
	}
}

// responsesOf returns the responses of the API and of the audit commands, without positions.
func responsesOf(i *installation, base string, backends []string) map[string]any {
	i.t.Helper()
	responses := make(map[string]any)
	for _, path := range []string{
		"/urls?order_by=hash", "/urls?tags=%2Bt%26%2Bu", "/stats/kept", "/tags", "/urls/new/history",
	} {
		answer, err := call(i.t.Context(), base, i.key, "GET", path, "")
		if err != nil {
			i.t.Fatal(err)
		}
		responses[path] = withoutPositions(answer)
	}
	for _, audit := range [][]string{
		{"history", "kept", "--format=json", "--clicks"},
		{"history", "old", "--format=json"},
		{"at", "kept", "--json", "--time", "2999-01-01"},
	} {
		out, log, code := command(i.t, append(append([]string{"audit"}, audit...), backends...)...)
		var answer any
		if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 {
			i.t.Fatalf("audit %v ended with %d: %s%s", audit, code, out, log)
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
func secondDatabase(i *installation, first *pgx.Conn) string {
	i.t.Helper()
	var name string
	if err := first.QueryRow(i.t.Context(), "SELECT quote_ident(current_database())").Scan(&name); err != nil {
		i.t.Fatal(err)
	}
	i.exec(first, "CREATE DATABASE moved TEMPLATE "+name)
	u, err := url.Parse(i.database.DSN())
	if err != nil {
		i.t.Fatal(err)
	}
	u.Path = "/moved"
	i.exec(i.connectTo(u.String()), "DROP SCHEMA linkledger CASCADE")
	return u.String()
}

func (i *installation) connectTo(dsn string) *pgx.Conn {
	i.t.Helper()
	conn, err := pgx.Connect(i.t.Context(), dsn)
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return conn
}

func (i *installation) exec(conn *pgx.Conn, statement string) {
	i.t.Helper()
	if _, err := conn.Exec(i.t.Context(), statement); err != nil {
		i.t.Fatal(err)
	}
}

// movedTo starts a service on the copy.
func movedTo(i *installation, store, database string) (*child, string) {
	i.t.Helper()
	base, admin := "http://"+freeAddress(i.t), "http://"+freeAddress(i.t)
	service := startChild(i.t, program, "serve", "--listen", base[len(
		"http://",
	):], "--admin-listen", admin[len("http://"):],
		"--spool", i.t.TempDir(), "--eventstore", store, "--database", database, "--base-url=https://sho.rt")
	return service, base
}
