package images_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"linkledger/e2e/e2etest"
)

const dockerFolder = "../../docker"

// readYAML reads a YAML file and returns it as JSON.
func readYAML(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := yaml.Unmarshal(content, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	converted, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return converted
}

var imageVariable = regexp.MustCompile(`(LINKLEDGER_\w+)=(\S+)`)

// imageEnvironment returns the environment variables that the last stage of the Dockerfile sets,
// which is the image.
func imageEnvironment(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dockerFolder, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	environment := make(map[string]string)
	last := string(content[bytes.LastIndex(content, []byte("\nFROM ")):])
	for _, variable := range imageVariable.FindAllStringSubmatch(last, -1) {
		environment[variable[1]] = variable[2]
	}
	if len(environment) == 0 {
		t.Fatal("the Dockerfile sets no variable")
	}
	return environment
}

// TestProvisioning checks that all YAML files can be parsed.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(dockerFolder, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".yaml" {
			readYAML(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var metricName = regexp.MustCompile(`\b(?:linkledger|go|process)_[a-z0-9_]+`)

// TestDashboard checks that a service exports each metric that the dashboard queries.
func TestDashboard(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(dockerFolder, "grafana", "linkledger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	d := e2etest.StartDev(t, filepath.Join(t.TempDir(), "data"))
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"seen"}]}`)
	if redirected, err := e2etest.Visit(t.Context(), d.Base, "seen", "visitor"); err != nil || !redirected {
		t.Fatalf("redirected: %t, %v", redirected, err)
	}
	e2etest.AwaitReady(t, d.Admin, http.StatusOK, `"projection links":"ok"`)
	_, page := e2etest.Scrape(t, d.Admin+"/metrics")
	exported := make(map[string]bool)
	for line := range strings.SplitSeq(page, "\n") {
		exported[metricName.FindString(line[:max(0, strings.IndexAny(line+" ", "{ "))])] = true
	}
	queried := make(map[string]bool)
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			names := metricName.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s queries %q, which is not a metric of linkledger", panel.Title, target.Expr)
			}
			for _, name := range names {
				queried[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(queried)) {
		if !exported[name] {
			t.Error(fmt.Sprint("the dashboard queries ", name, ", which is not exported"))
		}
	}
	d.Interrupt()
}
