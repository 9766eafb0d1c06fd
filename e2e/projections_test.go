package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"linkledger/projections"
)

// operator runs an operator command on a data folder and returns its output.
func operator(t *testing.T, folder string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, append(args, "--data", folder)...).CombinedOutput()
	if err != nil {
		t.Fatalf("linkledger %s: %v:\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// awaitProjection waits until the status of a projection meets a condition.
func awaitProjection(t *testing.T, folder, name string, is func(projectionStatus) bool) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		var views []projectionStatus
		if err := json.Unmarshal([]byte(operator(t, folder, "projections", "status", "--json")), &views); err != nil {
			t.Fatal(err)
		}
		for _, v := range views {
			if v.Name == name && is(v) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no such status of %s in %+v", name, views)
		}
	}
}

// TestRebuildProjections checks that a rebuild from another process takes over while the service
// runs, and that a rollback switches back to the previous generation immediately.
func TestRebuildProjections(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"kept"}]}`)
	out := operator(t, folder, "projections", "rebuild", "--all")
	if !strings.Contains(out, "links generation 2: 100.0%") || !strings.Contains(out, "serving: true") {
		t.Errorf("output of rebuild:\n%s", out)
	}
	d.call("GET", "/urls/kept", "")
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"later"}]}`)
	awaitProjection(t, folder, "links", func(v projectionStatus) bool { return v.Generation == 2 && v.State == "live" })
	awaitProjection(
		t, folder, "links",
		func(v projectionStatus) bool { return v.Generation == 1 && v.State == "kept" && v.LagEvents == 0 },
	)
	if out := operator(t, folder, "projections", "rollback", "links"); out != "generation 1 of links serves\n" {
		t.Errorf("output of rollback: %s", out)
	}
	d.call("GET", "/urls/later", "")
	if out := operator(
		t, folder, "projections", "prune", "--all",
	); out != fmt.Sprintf("%d generations removed\n", len(projections.Names())) {
		t.Errorf("output of prune: %s", out)
	}
	awaitProjection(t, folder, "links", func(v projectionStatus) bool { return v.Generation == 1 && v.State == "live" })
	d.call("GET", "/urls/later", "")
	rebuildInTheConsole(t, d, folder)
	d.interrupt()
}

// browser signs a browser in by the link that dev prints, and returns a function that opens an address in it.
func (d *dev) browser(t *testing.T) func(method, url string) string {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: cookies}
	open := func(method, url string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s %s answers %s: %v\n%s", method, url, response.Status, err, body)
		}
		return html.UnescapeString(string(body))
	}
	open(http.MethodPost, regexp.MustCompile(`http://\S+/console/sign-in/\S+`).FindString(d.greeting))
	return open
}

// rebuildInTheConsole rebuilds the links by the console of operators, with the link that dev prints. The commands that
// its pages show are commands of the program.
func rebuildInTheConsole(t *testing.T, d *dev, folder string) {
	t.Helper()
	page := d.browser(t)
	shown := page(http.MethodGet, d.admin+"/console") + page(http.MethodGet, d.admin+"/console/accounts") +
		page(http.MethodGet, d.admin+"/console/processes") +
		page(http.MethodPost, d.admin+"/console/projections/links/rebuild")
	awaitProjection(t, folder, "links", func(v projectionStatus) bool { return v.Generation == 2 && v.State == "live" })
	d.call("GET", "/urls/later", "")
	commands := regexp.MustCompile(`(?m)^(?:<pre>)?linkledger (.+)$`).FindAllStringSubmatch(shown, -1)
	if len(commands) < 10 {
		t.Errorf("the pages show the commands %q", commands)
	}
	for _, command := range commands {
		args := append([]string{"config"}, strings.Fields(command[1])...)
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Errorf("a page shows %q: %v\n%s", command[0], err, out)
		}
	}
}
