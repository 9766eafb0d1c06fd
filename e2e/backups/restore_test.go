package backups_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

// TestRestore checks that a backup of the log, taken while the service ran, is enough to restore a
// service, because the read models are rebuilt from the log.
func TestRestore(t *testing.T) {
	t.Parallel()
	folder, restored := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	d.Call("POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"kept","tags":["old"],"note":"secret"}]}`)
	if redirected, err := e2etest.Visit(t.Context(), d.Base, "kept", "visitor"); err != nil || !redirected {
		t.Fatalf("redirected: %t, %v", redirected, err)
	}
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"gone","note":"first"}]}`)
	d.Call("PATCH", "/urls/gone", `{"urls":[{"note":"second"}]}`)
	edited := d.Call("GET", "/activity?limit=1", "")["activity"].([]any)[0].(map[string]any)["batch"].(string)
	d.Call("DELETE", "/urls/gone", "")
	if err := os.Mkdir(restored, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, log, code := e2etest.Command(
		t, "eventstore", "backup", filepath.Join(folder, "events"), filepath.Join(restored, "events"),
	); code != 0 {
		t.Fatalf("backup: %s%s", out, log)
	}
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"late"}]}`)
	d.Interrupt()

	again := e2etest.StartDev(t, restored, "--new-keys")
	again.Key = d.Key
	urls := again.Call("GET", "/urls", "")["urls"].([]any)
	if len(urls) != 1 {
		t.Fatalf("restored: %v", urls)
	}
	if restored := urls[0].(map[string]any); restored["hash"] != "kept" || restored["total_clicks"] != 1.0 ||
		len(restored["tags"].([]any)) != 1 {
		t.Errorf("restored: %v", restored)
	}
	if note := urls[0].(map[string]any)["note"]; note != "cannot be read, its key is lost" {
		t.Errorf("the note reads %q", note)
	}
	if redirected, err := e2etest.Visit(t.Context(), again.Base, "kept", "agent"); err != nil || !redirected {
		t.Errorf("redirected: %t, %v", redirected, err)
	}
	again.Call("PATCH", "/urls/kept", `{"urls":[{"note":"another"}]}`)
	if note := again.Call("GET", "/urls/kept", "")["urls"].([]any)[0].(map[string]any)["note"]; note != "another" {
		t.Errorf("the new note reads %q", note)
	}
	lostKeysFailNothing(again, restored, edited)
	e2etest.AwaitReady(t, again.Admin, http.StatusOK, `"keys":"degraded: the keys of before `)
	e2etest.Operator(t, restored, "projections", "verify", "--all")
	again.Interrupt()
}

// lostKeysFailNothing restores a deleted link whose notes cannot be read, and undoes changes of its note by batches,
// in the API and as an operator. Each says what cannot be read, and fails for no other reason.
func lostKeysFailNothing(d *e2etest.Dev, folder, edited string) {
	d.T.Helper()
	const lost = "cannot be read, its key is lost"
	note := func(when, want string) {
		d.T.Helper()
		if got := d.Call("GET", "/urls/gone", "")["urls"].([]any)[0].(map[string]any)["note"]; got != want {
			d.T.Errorf("%s the note reads %q, want %q", when, got, want)
		}
	}
	if deleted := d.Call("GET", "/deleted", "")["deleted"].([]any); len(deleted) != 1 ||
		deleted[0].(map[string]any)["note"] != lost {
		d.T.Errorf("deleted: %v", deleted)
	}
	d.Call("POST", "/urls/gone/restore", "")
	note("restored", lost)
	d.Call("POST", "/batches/"+edited+"/undo", "")
	note("after the undo of an edit whose notes are lost", lost)
	d.Call("PATCH", "/urls/gone", `{"urls":[{"note":"readable"}]}`)
	since := d.Call("GET", "/activity?limit=1", "")["activity"].([]any)[0].(map[string]any)["batch"].(string)
	note("edited", "readable")
	e2etest.Operator(d.T, folder, "audit", "undo", since)
	note("undone by an operator", lost)
	d.Call("DELETE", "/urls/gone", "")
	e2etest.Operator(d.T, folder, "audit", "restore", "gone", "--revision", "0")
	note("restored to its first revision", lost)
	if history := e2etest.Operator(d.T, folder, "audit", "history", "gone"); !strings.Contains(history, lost) {
		d.T.Errorf("history: %s", history)
	}
	if accounts := e2etest.Operator(d.T, folder, "account", "list"); !strings.Contains(accounts, lost) {
		d.T.Errorf("accounts: %s", accounts)
	}
	d.Call("DELETE", "/urls/gone", "")
}

// TestOnlyLogAndKeysRemain drops the read models of a service. The next one builds them again,
// opens encrypted notes, and knows former visitors. Without the keys too it does not start.
func TestOnlyLogAndKeysRemain(t *testing.T) {
	t.Parallel()
	master := "--master-key=" + strings.Repeat("A", 43) + "="
	i := installtest.Install(t, "--base-url=https://sho.rt", master)
	writeHistory(i)
	backends := append(i.Backends(), master)
	before := responsesOf(i, i.Base, backends)
	if note := before["/urls?order_by=hash"].(map[string]any)["urls"].([]any)[0].(map[string]any)["note"]; note != "n" {
		t.Fatalf("the note is %v, want n", note)
	}
	stopService(i)
	database := i.ConnectTo(i.Database.DSN())
	i.Exec(database, "DROP SCHEMA linkledger CASCADE")

	i.Exec(database, "ALTER SCHEMA linkledger_durable RENAME TO kept")
	i.Exec(database, "CREATE TABLE half AS TABLE kept.account_keys")
	serve := append([]string{
		"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--spool", t.TempDir(), "--log-level=error",
	}, backends...)
	for name, what := range map[string]string{
		"no schema":    "",
		"an empty one": "CREATE SCHEMA linkledger_durable",
		"half of it": "CREATE SCHEMA linkledger_durable; ALTER TABLE half SET SCHEMA linkledger_durable; " +
			"ALTER TABLE linkledger_durable.half RENAME TO account_keys",
		"tables alone": "CREATE SCHEMA linkledger_durable; CREATE TABLE linkledger_durable.account_keys " +
			"(LIKE kept.account_keys INCLUDING ALL); " +
			"CREATE TABLE linkledger_durable.secrets (LIKE kept.secrets INCLUDING ALL)",
	} {
		i.Exec(database, what)
		if out, log, code := e2etest.Command(t, serve...); code != e2etest.ExitUsage ||
			!strings.Contains(log, "is not complete, but the log has links: restore") {
			t.Errorf("with %s serve ended with %d: %s%s", name, code, out, log)
		}
		i.Exec(database, "DROP SCHEMA IF EXISTS linkledger_durable CASCADE")
	}
	i.Exec(database, "ALTER SCHEMA kept RENAME TO linkledger_durable")

	i.StartService()
	answersAsBefore(i, i.Base, backends, before)
	if out, log, code := e2etest.Command(t, append([]string{"projections", "verify", "--all"}, backends...)...); code != 0 {
		t.Errorf("verify ended with %d: %s%s", code, out, log)
	}
}
