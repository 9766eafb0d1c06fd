package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"linkledger/cmd/linkledger-bench/internal/child"
	"linkledger/cmd/linkledger-bench/internal/report"
	"linkledger/internal/programtest"
)

// program is the real binary, built once.
var program string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "control" { // started by a test
		main()
		return
	}
	flag.Parse()
	if testing.Short() { // all of these tests start processes
		return
	}
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "linkledger-test-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		if program, err = programtest.Path(folder); err != nil {
			panic(err)
		}
		code := m.Run()
		// Toxiproxy may leave a connection that was cut while it was about to forward data.
		if err := goleak.Find(
			goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"),
		); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
		return code
	}())
}

// TestShort checks that every measurement runs on the real program, that the clicks equal the
// redirects, and that the report is compared to an older one.
func TestShort(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	before := report.Report{Time: time.Now(), Results: []report.Result{
		{Name: "appends", Ratio: 1e6, Control: report.Control{Name: "bare gRPC append"}},
		{Name: "appends", Ratio: 1, Control: report.Control{Name: "another control"}},
	}}
	older, output := filepath.Join(folder, "older.json"), filepath.Join(folder, "bench.json")
	if err := before.Save(older); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	var stdout, stderr strings.Builder
	args := []string{"--short", "--program", program, "--folder", data, "--output", output, "--compare", older}
	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	after, err := report.Read(output)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range after.Results {
		names = append(names, r.Name+" / "+r.Control.Name)
		if r.Rate <= 0 || r.Control.Rate <= 0 || r.Ratio <= 0 || r.PeakMB <= 0 || len(r.Runs) != 1 {
			t.Errorf("not measured: %+v", r)
		}
		if isRedirect := strings.HasPrefix(r.Name, "redirects"); isRedirect != (r.Clicks != nil) {
			t.Errorf("%s: clicks %v", r.Name, r.Clicks)
		} else if isRedirect && (r.Clicks.Answered == 0 || r.Clicks.Answered != r.Clicks.Recorded) {
			t.Errorf("%s: %+v", r.Name, *r.Clicks)
		}
	}
	if got := strings.Join(names, "\n"); got != `appends / bare gRPC append
rebuild of 1000 links / bare subscription
rebuild of 1000 links / bare COPY
pages of 1000 links, from 0 / bare SELECT
pages of 1000 links, from 500 / bare SELECT
redirects, one link / bare 302
redirects, 100 links / bare 302
creates, 1 per call / bare echo
creates, 50 per call / bare echo
clicks drained after an outage / bare appends
redirects while they drain / redirects before` {
		t.Errorf("measured\n%s", got)
	}
	if m := after.Machine; m.Cores < 1 || m.MemoryGB <= 0 || m.SyncMS <= 0 || m.PostgreSQL == "" || m.Program == "" ||
		after.IdleMB <= 0 {
		t.Errorf("the machine is %+v, idle %v MB", m, after.IdleMB)
	}
	for _, want := range []string{"-100%", "worse", "gone", "new", "redirects answered"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("files that were not removed: %v, %v", left, err)
	}
}

// TestWrongFlags checks that invalid flags are refused before a process is started.
func TestWrongFlags(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":  {[]string{"--fast"}, "--help"},
		"no runs":       {[]string{"--runs=0"}, "--runs"},
		"no report":     {[]string{"--compare=/nowhere"}, "/nowhere"},
		"not a report":  {[]string{"--compare=" + file}, "no report"},
		"no folder":     {[]string{"--folder=/nowhere"}, "--folder"},
		"not a program": {[]string{"--program=" + file, "--folder=" + t.TempDir()}, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := run(t.Context(), test.args, &out, &out)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}

// TestChildThatFails checks that the error of a failed process contains its reason.
func TestChildThatFails(t *testing.T) {
	t.Parallel()
	_, err := child.Start(t.Context(), "ready", program, "dev", "--listen", "nowhere")
	if err == nil || !strings.Contains(err.Error(), "ended before it was ready") ||
		!strings.Contains(err.Error(), "--listen (LINKLEDGER_LISTEN)") {
		t.Error(err)
	}
}
