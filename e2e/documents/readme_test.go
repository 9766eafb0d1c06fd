package documents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/e2e/e2etest"
)

// TestReadmeTour runs the commands of the README's tour in order, and checks that they do what the
// README says.
func TestReadmeTour(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	script := "export KEY=" + d.Key + " LINKLEDGER_DATA=" + folder + "\n"
	var scriptSb23 strings.Builder
	for _, block := range e2etest.ReadmeBlock.FindAllStringSubmatch(string(readme), -1) {
		scriptSb23.WriteString(block[1])
	}
	script += scriptSb23.String()
	script = strings.NewReplacer("http://127.0.0.1:8080", d.Base, "./linkledger ", e2etest.Program+" ").Replace(script)
	out := e2etest.Shell(t, script)
	for _, want := range []string{
		`"hash":"pg"`, "Location: https://www.postgresql.org/docs/", `"total_clicks":1`, `"tags":["docs","manual"]`,
		"url.restored.v1", "root hash", "lag events", "serving: true", "0 different",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	d.Interrupt()
}
