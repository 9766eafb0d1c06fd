package backups_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/e2e/e2etest"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// tablesWith returns the tables, of any schema of a database, that contain a text.
func tablesWith(t *testing.T, folder, text string) []string {
	t.Helper()
	db := openRunning(t, folder)
	var all, with []string
	if err := db.NewRaw(`SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables
		WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`).Scan(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, table := range all {
		var found bool
		if err := db.NewRaw(
			"SELECT EXISTS (SELECT FROM "+table+" AS r WHERE position(lower(?) IN lower(r::text)) > 0)", text,
		).
			Scan(t.Context(), &found); err != nil {
			t.Fatal(err)
		}
		if found {
			with = append(with, table)
		}
	}
	return with
}

// analyze makes the planner collect statistics on all tables of a database and removes dead rows.
// Autovacuum would do so later.
func analyze(t *testing.T, folder string) {
	t.Helper()
	if _, err := openRunning(t, folder).ExecContext(t.Context(), "VACUUM (ANALYZE)"); err != nil {
		t.Fatal(err)
	}
}

// statisticsWith returns the tables and indexes of a database whose planner statistics contain a
// text. Values of type bytea appear in them as hexadecimal digits.
func statisticsWith(t *testing.T, folder, text string) []string {
	t.Helper()
	var with []string
	if err := openRunning(t, folder).NewRaw(`WITH known AS (
			SELECT starelid::regclass::text AS relation, lower(concat(stavalues1, stavalues2, stavalues3, stavalues4, stavalues5)) AS vals
			FROM pg_statistic
			UNION ALL SELECT statistics_name, lower(most_common_vals::text) FROM pg_stats_ext
			UNION ALL SELECT statistics_name, lower(concat(most_common_vals, histogram_bounds, most_common_elems)) FROM pg_stats_ext_exprs)
		SELECT DISTINCT relation FROM known
		WHERE position(lower(?0) IN vals) > 0 OR position(encode(convert_to(lower(?0), 'UTF8'), 'hex') IN vals) > 0
			OR position(encode(convert_to(?0, 'UTF8'), 'hex') IN vals) > 0`,
		text).Scan(t.Context(), &with); err != nil {
		t.Fatal(err)
	}
	return with
}

func openRunning(t *testing.T, folder string) *readmodel.DB {
	t.Helper()
	running := e2etest.FindRunning(t, folder)
	db, err := readmodel.Open(t.Context(), running.Database, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// erin is an account with two links that have notes. One link was edited, the other one deleted.
// The tests erase the account.
type erin struct {
	*e2etest.Dev

	folder, key, id string
}

const erinsSecret = "Erins secret"

func openErin(t *testing.T, d *e2etest.Dev, folder string) erin {
	t.Helper()
	var opened e2etest.OpenedAccount
	out, log, _ := e2etest.Command(t, "account", "create", "--username", "erin", "--json", "--data", folder)
	if err := json.Unmarshal([]byte(out), &opened); err != nil {
		t.Fatalf("output of account create: %s%s: %v", out, log, err)
	}
	e := erin{d, folder, opened.APIKey, opened.ID}
	for _, call := range [][3]string{
		{
			"POST", "/urls",
			`{"urls":[{"long_url":"https://example.com/erin","custom_hash":"erins","note":"` + erinsSecret + ` 1"}]}`,
		},
		{"PATCH", "/urls/erins", `{"urls":[{"note":"` + erinsSecret + ` 2"}]}`},
		{
			"POST", "/urls",
			`{"urls":[{"long_url":"https://example.com/gone","custom_hash":"erins-gone","note":"` + erinsSecret +
				` 3"}]}`,
		},
		{"DELETE", "/urls/erins-gone", ""},
	} {
		if _, err := e2etest.CallAs(t.Context(), d.Base, "erin", e.key, call[0], call[1], call[2]); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// wantGone checks that no table, statistic, command or response contains erin's notes, that the
// projections and the log verify, and that the redirect still works.
func (e erin) wantGone() {
	e.T.Helper()
	if tables := tablesWith(e.T, e.folder, erinsSecret); len(tables) > 0 {
		e.T.Errorf("tables that contain an erased note: %v", tables)
	}
	if known := statisticsWith(e.T, e.folder, erinsSecret); len(known) > 0 {
		e.T.Errorf("planner statistics that contain an erased note: %v", known)
	}
	for _, args := range [][]string{
		{"audit", "history", "erins"},
		{"audit", "history", "erins", "--account", "erin", "--format", "csv"},
		{"audit", "at", "erins", "--time", time.Now().UTC().Format(time.RFC3339Nano)},
	} {
		if out := e2etest.Operator(e.T, e.folder, args...); strings.Contains(out, erinsSecret) ||
			!strings.Contains(out, "erased") || strings.Contains(out, `"erased"`) {
			e.T.Errorf("output of %v:\n%s", args, out)
		}
	}
	if out := e2etest.Operator(
		e.T, e.folder, "audit", "history", "erins", "--format", "ndjson",
	); !strings.Contains(out, `{"field":"note","before":"erased","after":"erased","erased":true}`) {
		e.T.Errorf("output of history:\n%s", out)
	}
	e2etest.Operator(e.T, e.folder, "projections", "verify", "--all")
	e2etest.Operator(e.T, e.folder, "audit", "verify")
	for _, path := range []string{
		"/urls?search=secret", "/urls/erins", "/urls/erins/history", "/urls/erins?at=2026-01-01", "/account",
	} {
		if _, err := e2etest.CallAs(e.T.Context(), e.Base, "erin", e.key, "GET", path, ""); err == nil ||
			!strings.Contains(err.Error(), "1217") {
			e.T.Errorf("GET %s: %v", path, err)
		}
	}
	if status, err := e2etest.VisitStatus(e.T.Context(), e.Base, "erins", "visitor"); status != http.StatusFound {
		e.T.Errorf("the link of the erased account responds %d, %v", status, err)
	}
}

// TestEraseAccount checks that no note of an erased account is left, neither after the erasure nor
// after a rebuild of all read models, and that the log is unchanged.
func TestEraseAccount(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	d.Call(
		"POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"kept","note":"a note that stays"}]}`,
	)
	e := openErin(t, d, folder)
	if tables := tablesWith(t, folder, erinsSecret); len(tables) == 0 {
		t.Fatal("no table has the notes")
	}
	e2etest.Operator(t, folder, "projections", "rebuild", "links") // keeps the previous generation
	analyze(t, folder)
	if known := statisticsWith(t, folder, erinsSecret); len(known) < 4 { // tables and indexes of links and history
		t.Fatalf("only the planner statistics of %v contain notes", known)
	}
	before := exported(t, folder)
	for range 2 {
		if out := e2etest.Operator(t, folder, "account", "erase", "erin", "--json"); !strings.Contains(out, `"erased":true`) {
			t.Fatalf("output of account erase: %s", out)
		}
	}
	e.wantGone()
	analyze(t, folder)
	e.wantGone()
	e2etest.Operator(t, folder, "projections", "rebuild", "--all")
	e.wantGone()
	after := exported(t, folder)
	if lines := bytes.Split(
		before, []byte("\n"),
	); !bytes.HasPrefix(after[bytes.IndexByte(after, '\n')+1:], bytes.Join(lines[1:len(lines)-2], []byte("\n"))) {
		t.Error("events of the log have changed")
	}
	if bytes.Contains(after, []byte(erinsSecret)) || bytes.Contains(after, []byte("a note that stays")) {
		t.Error("notes are in the log")
	}
	if tables := tablesWith(t, folder, "a note that stays"); len(tables) == 0 {
		t.Error("notes of another account were erased too")
	}
	d.Interrupt()
	if strings.Contains(d.Output.String(), erinsSecret) {
		t.Errorf("a note was logged:\n%s", d.Output)
	}
}

func exported(t *testing.T, folder string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.ndjson")
	e2etest.Operator(t, folder, "audit", "export", "--output", file)
	log, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestInterruptedErasureIsCompleted checks an erasure that was interrupted between the event and
// the deletion of the key. A projection deletes the key when it applies the event, and the next
// call of account erase completes the erasure.
func TestInterruptedErasureIsCompleted(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	e := openErin(t, e2etest.StartDev(t, folder), folder)
	e2etest.Operator(t, folder, "projections", "pause", "links")
	e2etest.Operator(t, folder, "projections", "pause", "history")
	running := e2etest.FindRunning(t, folder)
	store, err := eventstore.Open(eventstore.Config{URL: running.EventStore})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Append(t.Context(), eventstore.Write{
		Stream: events.StreamAccount + e.id, Expected: 0, Command: uuid.New(),
		Events: []events.Event{events.AccountErased{At: time.Now().UTC()}},
	}); err != nil {
		t.Fatal(err)
	}
	db := openRunning(t, folder)
	hasKey := func() (has bool) {
		if err := db.NewRaw(
			"SELECT EXISTS (SELECT FROM linkledger_durable.account_keys WHERE account_id = ? AND wrapped IS NOT NULL)", e.id,
		).
			Scan(t.Context(), &has); err != nil {
			t.Fatal(err)
		}
		return has
	}
	if !hasKey() {
		t.Fatal("the key is deleted before a projection has applied the erasure")
	}
	e2etest.Operator(t, folder, "projections", "resume", "history")
	e2etest.AwaitProjection(
		t, folder, "history", func(p e2etest.ProjectionStatus) bool { return p.LagEvents == 0 && p.State == "live" },
	)
	if hasKey() {
		t.Error("a projection has applied the erasure, but the key still exists")
	}
	e2etest.Operator(t, folder, "projections", "resume", "links")
	e2etest.Operator(t, folder, "account", "erase", "erin")
	e.wantGone()
	e.Interrupt()
}

// TestWrongMasterKey checks that a service does not start with a master key other than the one that
// sealed its notes.
func TestWrongMasterKey(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"kept","note":"kept"}]}`)
	running := e2etest.FindRunning(t, folder)
	serve := []string{
		"serve", "--eventstore", running.EventStore, "--database", running.Database,
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--spool", t.TempDir(),
	}
	for name, test := range map[string]struct{ environment, want string }{
		"none": {"", "notes are encrypted here: give the master key, with --master-key (LINKLEDGER_MASTER_KEY)"},
		"other": {
			"c2l4dGVlbiBieXRlcyBhbmQgc2l4dGVlbiBieXRlcyE=",
			"wrapped by another master key: give that one, with --master-key",
		},
		"short": {"c2hvcnQ=", "give 32 bytes in base64"},
	} {
		var environment map[string]string
		if test.environment != "" {
			environment = map[string]string{"LINKLEDGER_MASTER_KEY": test.environment}
		}
		out, err := e2etest.RunWith(t, environment, serve...)
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok || ended.ExitCode() != e2etest.ExitUsage || !strings.Contains(out, test.want) ||
			test.environment != "" && strings.Contains(out, test.environment) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	d.Interrupt()
}
