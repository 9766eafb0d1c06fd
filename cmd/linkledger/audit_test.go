package main

import (
	"encoding/csv"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linkledger/commands"
)

func TestAuditHistory(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	d.call("PATCH", "/urls/one", `{"urls":[{"note":"=1+1\u001b[2J","custom_hash":"two"}]}`)
	if redirected, err := visit(t.Context(), d.base, "two", "Firefox"); err != nil || !redirected {
		t.Fatalf("visit: %v, %v", redirected, err)
	}
	d.call("GET", "/stats/two", "") // counts the click

	var told struct {
		Links []struct {
			Hashes      []commands.Tenure    `json:"hashes"`
			DailyClicks map[string]dayClicks `json:"daily_clicks"`
		} `json:"links"`
		Events []struct {
			Type string `json:"type"`
		} `json:"events"`
	}
	if err := json.Unmarshal([]byte(operator(t, folder, "audit", "history", "one", "--format", "json")), &told); err != nil {
		t.Fatal(err)
	}
	if len(told.Links) != 1 || len(told.Links[0].Hashes) != 2 || len(told.Links[0].DailyClicks) != 1 || len(told.Events) != 5 {
		t.Errorf("json: %+v", told)
	}
	table := strings.ReplaceAll(operator(t, folder, "audit", "history", "one", "--account", demoUser), `""`, `"`) // quotes of TSV
	for _, want := range []string{"one from ", "two from ", `note: "" -> "=1+1\u001b[2J"`, `hash: "one" -> "two"`, "total_clicks: null -> 1"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %s in the table\n%s", want, table)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(operator(t, folder, "audit", "history", "two", "--format", "csv", "--clicks"))).ReadAll()
	if err != nil || len(rows) < 6 || rows[0][12] != "field" || rows[len(rows)-1][5] != "clicks.recorded.v1" {
		t.Errorf("csv: %v, %v", rows, err)
	}
	lines := strings.Split(strings.TrimSpace(operator(t, folder, "audit", "history", "two", "--format", "ndjson")), "\n")
	if len(lines) != 5 || slices.ContainsFunc(lines, func(line string) bool { return !json.Valid([]byte(line)) }) {
		t.Errorf("ndjson: %v", lines)
	}
	for _, wrong := range [][]string{{"none"}, {"n.n"}, {"one", "--account", "nobody"}, {"one", "--format", "xml"}} {
		command := exec.CommandContext(t.Context(), program, append([]string{"audit", "history", "--data", folder}, wrong...)...)
		if out, err := command.CombinedOutput(); command.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%v: %v\n%s", wrong, err, out)
		}
	}
}
