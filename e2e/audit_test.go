package e2e

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linkledger/commands/audit"
)

func TestAuditHistory(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	d.call("PATCH", "/urls/one", `{"urls":[{"note":"=1+1\u202e[2J","custom_hash":"two"}]}`)
	if redirected, err := visit(t.Context(), d.base, "two", "Firefox"); err != nil || !redirected {
		t.Fatalf("visit: %v, %v", redirected, err)
	}
	d.call("GET", "/stats/two", "") // counts the click

	var history struct {
		Links []struct {
			Hashes      []audit.Tenure       `json:"hashes"`
			DailyClicks map[string]dayClicks `json:"daily_clicks"`
		} `json:"links"`
		Events []audit.Entry `json:"events"`
	}
	if err := json.Unmarshal(
		[]byte(operator(t, folder, "audit", "history", "one", "--format", "json")), &history,
	); err != nil {
		t.Fatal(err)
	}
	if len(history.Links) != 1 || len(history.Links[0].Hashes) != 2 || len(history.Links[0].DailyClicks) != 1 ||
		len(history.Events) != 5 {
		t.Errorf("json: %+v", history)
	}
	table := operator(t, folder, "audit", "history", "one", "--account", demoUser)
	for _, want := range []string{
		"one from ", "two from ", ` note: "" -> "=1+1\u202e[2J"` + "\n", ` hash: "one" -> "two"` + "\n",
		" total_clicks: null -> 1\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %s in the table\n%s", want, table)
		}
	}
	for _, e := range history.Events[:len(history.Events)-1] { // each batch has several events
		if above := "by " + demoUser + ", key " + e.Actor.Key + ", batch " + e.Batch + "\n"; strings.Count(
			table, above,
		) != 1 {
			t.Errorf("%q is in the table %d times\n%s", above, strings.Count(table, above), table)
		}
		if strings.Count(table, e.Batch) != 1 {
			t.Errorf("the batch %s is in the table more than once\n%s", e.Batch, table)
		}
	}
	for line := range strings.Lines(table) {
		if len(line) > 150 {
			t.Errorf("a long line: %s", line)
		}
	}
	clicks := operator(t, folder, "audit", "history", "two", "--clicks")
	if !strings.Contains(clicks, "\nby visitors\n") || !strings.Contains(clicks, " visitor ") {
		t.Errorf("no click in the table\n%s", clicks)
	}
	rows, err := csv.NewReader(
		strings.NewReader(operator(t, folder, "audit", "history", "two", "--format", "csv", "--clicks")),
	).ReadAll()
	if err != nil || len(rows) < 6 || rows[0][18] != "field" || rows[0][15] != "visitor" ||
		rows[len(rows)-1][5] != "clicks.recorded.v1" || rows[len(rows)-1][15] == "" {
		t.Errorf("csv: %v, %v", rows, err)
	}
	lines := strings.Split(
		strings.TrimSpace(operator(t, folder, "audit", "history", "two", "--format", "ndjson")), "\n",
	)
	if len(lines) != 5 || slices.ContainsFunc(lines, func(line string) bool { return !json.Valid([]byte(line)) }) {
		t.Errorf("ndjson: %v", lines)
	}
	var was linkAt
	before := history.Links[0].Hashes[1].From.Add(-time.Millisecond).Format(time.RFC3339Nano)
	if err := json.Unmarshal(
		[]byte(operator(t, folder, "audit", "at", "one", "--time", before, "--json")), &was,
	); err != nil {
		t.Fatal(err)
	}
	if was.LongURL != "https://example.com/" || was.Note != "" || was.Until.IsZero() {
		t.Errorf("before the edit: %+v", was)
	}
	if now := operator(t, folder, "audit", "at", "two", "--time", "9999-01-01"); !strings.Contains(now, "until now") {
		t.Errorf("now:\n%s", now)
	}
	gone := exec.CommandContext(t.Context(), program, "audit", "at", "one", "--time", "9999-01-01", "--data", folder)
	if out, err := gone.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `had moved from the hash "one" to "two"`) {
		t.Errorf("history of a hash that a link no longer has: %v\n%s", err, out)
	}
	for _, wrong := range [][]string{{"none"}, {"n.n"}, {"one", "--account", "nobody"}, {"one", "--format", "xml"}} {
		command := exec.CommandContext(
			t.Context(), program, append([]string{"audit", "history", "--data", folder}, wrong...)...,
		)
		if out, err := command.CombinedOutput(); command.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%v: %v\n%s", wrong, err, out)
		}
	}
}

func TestAuditRestoreAndUndo(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	d.call(
		"POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"one"},{"long_url":"https://example.com/","custom_hash":"two"}]}`,
	)
	d.call("PATCH", "/urls?hashes=one,two", `{"urls":[{"note":"changed"}]}`)
	d.call("PATCH", "/urls/two", `{"urls":[{"note":"changed since"}]}`)
	var history struct {
		Events []audit.Entry `json:"events"`
	}
	if err := json.Unmarshal(
		[]byte(operator(t, folder, "audit", "history", "one", "--format", "json")), &history,
	); err != nil {
		t.Fatal(err)
	}
	edit := history.Events[len(history.Events)-1]

	undo := exec.CommandContext(t.Context(), program, "audit", "undo", edit.Batch, "--json", "--data", folder)
	out, err := undo.Output()
	var undone undoneBatch
	if err == nil || json.Unmarshal(out, &undone) != nil || undone.Undone != 1 || len(undone.Refused) != 1 ||
		undone.Refused[0].Hash != "two" || !slices.Equal(undone.Refused[0].Fields, []string{"note"}) {
		t.Fatalf("undo: %v\n%s", err, out)
	}
	if redone := operator(
		t, folder, "audit", "undo", undone.By,
	); !strings.Contains(redone, "1 links are as they were, by batch ") {
		t.Errorf("undo of an undo:\n%s", redone)
	}
	if again := operator(
		t, folder, "audit", "undo", undone.By,
	); again != "1 links are as they were, and were so already\n" {
		t.Errorf("second undo of the same batch:\n%s", again)
	}
	d.call("DELETE", "/urls/one", "")
	if restored := operator(
		t, folder, "audit", "restore", "one", "--revision", "0",
	); !strings.Contains(restored, "https://example.com/") {
		t.Errorf("restore:\n%s", restored)
	}
	if redirected, err := visit(t.Context(), d.base, "one", "Firefox"); err != nil || !redirected {
		t.Errorf("visit: %v, %v", redirected, err)
	}
	if by := operator(
		t, folder, "audit", "history", "one", "--format", "ndjson",
	); !strings.Contains(by, `"type":"url.restored.v1"`) ||
		!strings.Contains(by, `"kind":"operator"`) {
		t.Errorf("history:\n%s", by)
	}
	for _, wrong := range [][]string{
		{"restore", "none"}, {"restore", "one", "--revision", "99"}, {"undo", "x"}, {"undo", undone.Refused[0].ID},
	} {
		command := exec.CommandContext(
			t.Context(), program, append(append([]string{"audit"}, wrong...), "--data", folder)...,
		)
		if out, err := command.CombinedOutput(); command.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%v: %v\n%s", wrong, err, out)
		}
	}
}

func TestAuditExport(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	refused := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, append([]string{"audit"}, args...)...)
		out, err := command.CombinedOutput()
		if err == nil {
			t.Errorf("%v: did not fail\n%s", args, out)
		}
		return string(out)
	}
	for _, format := range []string{"ndjson", "csv"} {
		name := filepath.Join(t.TempDir(), "log."+format)
		printed := operator(t, folder, "audit", "export", "--output", name, "--format", format)
		checked, err := exec.CommandContext(t.Context(), program, "audit", "import-check", name).CombinedOutput()
		_, root, _ := strings.Cut(strings.TrimSpace(printed), "root hash ")
		if err != nil || root == "" || !strings.Contains(string(checked), root) {
			t.Errorf("check: %v\n%s%s", err, printed, checked)
		}
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if out := refused("export", "--data", folder, "--output", name); !strings.Contains(out, "exists") {
			t.Errorf("export to a file that exists: %s", out)
		}
		if out := refused("export", "--data", folder, "--resume", name); !strings.Contains(out, "is complete") {
			t.Errorf("resume of a complete file: %s", out)
		}
		if err := os.WriteFile(name, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if out := refused("import-check", name); !strings.Contains(out, "resume it") {
			t.Errorf("check of half a file: %s", out)
		}
		operator(t, folder, "audit", "export", "--resume", name)
		if resumed, err := os.ReadFile(name); err != nil || string(resumed) != string(whole) {
			t.Errorf("resumed to another file, %v\n%s", err, resumed)
		}
		if err := os.WriteFile(
			name, []byte(strings.Replace(string(whole), "example.com", "example.net", 1)), 0o600,
		); err != nil {
			t.Fatal(err)
		}
		if out := refused("import-check", name); !strings.Contains(out, "an event was changed") {
			t.Errorf("check of a changed file: %s", out)
		}
	}
	of := operator(
		t, folder, "audit", "export", "--account", demoUser, "--from", "2026-01-01", "--to", "9999-01-01T00:00:00Z",
	)
	if !strings.Contains(of, `"url.created.v1"`) || !strings.Contains(of, `"root":`) ||
		strings.Contains(of, "root hash") {
		t.Errorf("export to standard output:\n%s", of)
	}
	if out := refused(
		"export", "--data", folder, "--from", "2026-01-02", "--to", "2026-01-02",
	); !strings.Contains(out, "must be later") {
		t.Errorf("export of an empty range: %s", out)
	}
	if out := refused("export", "--data", folder, "--from", "9999-01-01"); !strings.Contains(out, "in the future") {
		t.Errorf("export from a time in the future: %s", out)
	}
	if out := refused("export", "--data", folder, "--from", "yesterday"); !strings.Contains(out, "2026-01-31") {
		t.Errorf("export with an invalid time: %s", out)
	}
	if out := refused(
		"export", "--data", folder, "--resume", "x", "--account", "demo",
	); !strings.Contains(out, "leave out") {
		t.Errorf("resume of another range: %s", out)
	}
}
