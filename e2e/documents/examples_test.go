package documents_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/internal/programtest"
	"linkledger/projections/readmodel"
)

var changedFile = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)

// TestExamples applies the worked examples one after the other, and checks that the changed program
// works with the data that the unchanged program has stored.
func TestExamples(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	before := e2etest.StartDev(t, folder)
	before.Call(
		"POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/1","tags":["old"]},{"long_url":"https://example.com/2"}]}`,
	)
	before.Interrupt()

	changed := changedProgram(t)
	after := e2etest.StartDevProgram(t, changed, folder)
	after.Key = before.Key
	after.Call("PATCH", "/tags/old", `{"label":"older"}`)
	after.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/3","tags":["new"]}]}`)
	for _, label := range []string{"older", "new"} {
		if answer := after.Call("GET", "/tags/"+label, ""); fmt.Sprint(answer["tags"]) != "[map[label:"+label+"]]" {
			t.Errorf("the tag %s: %v", label, answer)
		}
	}
	featured(t, after)
	e2etest.AwaitReady(t, after.Admin, http.StatusOK, `"projection hosts":"ok"`)
	if out, err := exec.CommandContext(
		t.Context(), changed, "projections", "verify", "--all", "--data", folder,
	).CombinedOutput(); err != nil {
		t.Errorf("verify: %v: %s", err, out)
	}
	running := e2etest.FindRunning(t, folder)
	db, err := readmodel.Open(t.Context(), running.Database, 1)
	if err != nil {
		t.Fatal(err)
	}
	var links int
	err = db.NewRaw("SELECT links FROM linkledger.hosts WHERE host = 'example.com'").Scan(t.Context(), &links)
	if err := errors.Join(err, db.Close()); err != nil || links != 4 {
		t.Errorf("%d links lead to the host, %v", links, err)
	}
	after.Interrupt()
}

// featured sets the setting that the examples add, and checks that a link's record, history, past,
// page in the console and undo have it.
func featured(t *testing.T, d *e2etest.Dev) {
	t.Helper()
	created := d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/4","custom_hash":"four"}]}`)
	if url := created["urls"].([]any)[0].(map[string]any); url["featured"] != false {
		t.Errorf("a new link: %v", url)
	}
	d.Call("PATCH", "/urls/four", `{"urls":[{"featured":true}]}`)
	at := time.Now().UTC().Format(time.RFC3339Nano)
	d.Call("PATCH", "/urls/four", `{"urls":[{"featured":false}]}`)
	for query, want := range map[string]bool{"": false, "?at=" + at: true} {
		url := d.Call("GET", "/urls/four"+query, "")["urls"].([]any)[0].(map[string]any)
		if url["featured"] != want {
			t.Errorf("the link%s: %v, want featured %t", query, url, want)
		}
	}
	if history := fmt.Sprint(d.Call("GET", "/urls/four/history", "")); !strings.Contains(history, "field:featured") {
		t.Errorf("no change of the setting in %s", history)
	}
	page := d.Browser(t)(http.MethodGet, d.Base+"/console/links/four")
	for _, part := range []string{`name="featured"`, `<span class="field">featured</span>`, "Undo: featured"} {
		if !strings.Contains(page, part) {
			t.Errorf("the console does not show %q in\n%s", part, page)
		}
	}
	d.Call("POST", "/urls/four/restore", `{"version":1}`)
	if url := d.Call("GET", "/urls/four", "")["urls"].([]any)[0].(map[string]any); url["featured"] != true {
		t.Errorf("restored: %v", url)
	}
}

// changedProgram builds the program with the worked examples.
func changedProgram(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	changed := t.TempDir()
	for _, name := range []string{"field", "version", "projection", "endpoint", "setting"} {
		diff, err := filepath.Abs(filepath.Join("../testdata", "examples", name+".diff"))
		if err != nil {
			t.Fatal(err)
		}
		copyChanged(t, root, changed, diff)
		apply := exec.CommandContext(t.Context(), "git", "apply", "-C1", "--recount", diff)
		apply.Dir = changed
		apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(changed))
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%s.diff no longer fits, make the change and take its diff (git diff -U1): %v: %s", name, err, out)
		}
	}
	overlay := writeOverlay(t, root, changed)
	binary := filepath.Join(t.TempDir(), "linkledger")
	if err := programtest.Build(binary, "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	return binary
}

// copyChanged copies the files that a diff changes, except for files that an earlier diff has changed.
func copyChanged(t *testing.T, root, to, diff string) {
	t.Helper()
	text, err := os.ReadFile(diff)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range changedFile.FindAllStringSubmatch(string(text), -1) {
		target := filepath.Join(to, file[1])
		content, err := os.ReadFile(filepath.Join(root, file[1]))
		if os.IsNotExist(err) { // the diff creates it
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(target); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writeOverlay writes an overlay that makes the go command read the changed files instead of the
// originals.
func writeOverlay(t *testing.T, root, changed string) string {
	t.Helper()
	replace := make(map[string]string)
	err := filepath.WalkDir(changed, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := filepath.Rel(changed, path)
		replace[filepath.Join(root, file)] = path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
