package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// TestVerifyProjections checks that an operator can verify the projections of a running process:
// first unchanged ones, then one whose tables were changed by hand.
func TestVerifyProjections(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"right","tags":["a"]}]}`)
	if out := operator(
		t, folder, "projections", "verify", "--all",
	); strings.Count(out, ", 0 different\n") != len(projections.Names()) {
		t.Errorf("output of verify::\n%s", out)
	}
	running := findRunning(t, folder)
	db, err := readmodel.Open(t.Context(), running.Database, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE links_g1.links SET hash = 'wrong'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if out := operator(
		t, folder, "projections", "verify", "tags", "--json",
	); !strings.Contains(out, `"rows":1,"different":0,"differences":[]`) {
		t.Errorf("output of verify: %s", out)
	}
	out, log, code := command(t, "projections", "verify", "links", "--data", folder)
	if code != exitFailed || !strings.Contains(log, "1 rows are not as the log says") ||
		!strings.Contains(out, "  links {") || !strings.Contains(out, `"hash": "wrong"`) || !strings.Contains(
		out, `"hash": "right"`,
	) {
		t.Errorf("verify ended with %d:\n%s%s", code, out, log)
	}
	out, _, code = command(t, "projections", "verify", "links", "--json", "--data", folder)
	var views []verifiedProjection
	if err := json.Unmarshal([]byte(out), &views); err != nil || code != exitFailed {
		t.Fatalf("verify ended with %d: %v, %s", code, err, out)
	}
	if len(views) != 1 || views[0].Different != 1 || len(views[0].Differences) != 1 || views[0].Rows == 0 ||
		views[0].Events == 0 {
		t.Errorf("output of verify: %+v", views)
	}
	operator(t, folder, "projections", "rebuild", "links")
	if out := operator(t, folder, "projections", "verify", "links"); !strings.Contains(out, "links generation 2 ") ||
		!strings.Contains(out, " 0 different") {
		t.Errorf("after a rebuild: %s", out)
	}
	d.interrupt()
}
