package operations_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/projections"
)

// TestRebuildProjections checks that a rebuild from another process takes over while the service
// runs, and that a rollback switches back to the previous generation immediately.
func TestRebuildProjections(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"kept"}]}`)
	out := e2etest.Operator(t, folder, "projections", "rebuild", "--all")
	if !strings.Contains(out, "links generation 2: 100.0%") || !strings.Contains(out, "serving: true") {
		t.Errorf("output of rebuild:\n%s", out)
	}
	d.Call("GET", "/urls/kept", "")
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"later"}]}`)
	e2etest.AwaitProjection(t, folder, "links", func(v e2etest.ProjectionStatus) bool { return v.Generation == 2 && v.State == "live" })
	e2etest.AwaitProjection(
		t, folder, "links",
		func(v e2etest.ProjectionStatus) bool {
			return v.Generation == 1 && v.State == "kept" && v.LagEvents == 0
		},
	)
	if out := e2etest.Operator(t, folder, "projections", "rollback", "links"); out != "generation 1 of links serves\n" {
		t.Errorf("output of rollback: %s", out)
	}
	d.Call("GET", "/urls/later", "")
	if out := e2etest.Operator(
		t, folder, "projections", "prune", "--all",
	); out != fmt.Sprintf("%d generations removed\n", len(projections.Names())) {
		t.Errorf("output of prune: %s", out)
	}
	e2etest.AwaitProjection(t, folder, "links", func(v e2etest.ProjectionStatus) bool { return v.Generation == 1 && v.State == "live" })
	d.Call("GET", "/urls/later", "")
	rebuildInTheConsole(t, d, folder)
	d.Interrupt()
}

// rebuildInTheConsole rebuilds the links by the console of operators, with the link that dev prints. The commands that
// its pages show are commands of the program.
func rebuildInTheConsole(t *testing.T, d *e2etest.Dev, folder string) {
	t.Helper()
	page := d.Browser(t)
	shown := page(http.MethodGet, d.Admin+"/console") + page(http.MethodGet, d.Admin+"/console/accounts") +
		page(http.MethodGet, d.Admin+"/console/processes") +
		page(http.MethodPost, d.Admin+"/console/projections/links/rebuild")
	e2etest.AwaitProjection(t, folder, "links", func(v e2etest.ProjectionStatus) bool { return v.Generation == 2 && v.State == "live" })
	d.Call("GET", "/urls/later", "")
	commands := regexp.MustCompile(`(?m)^(?:<pre>)?linkledger (.+)$`).FindAllStringSubmatch(shown, -1)
	if len(commands) < 10 {
		t.Errorf("the pages show the commands %q", commands)
	}
	for _, command := range commands {
		args := append([]string{"config"}, strings.Fields(command[1])...)
		if out, err := exec.CommandContext(t.Context(), e2etest.Program, args...).CombinedOutput(); err != nil {
			t.Errorf("a page shows %q: %v\n%s", command[0], err, out)
		}
	}
}
