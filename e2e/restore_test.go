package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRestore checks that a backup of the log, taken while the service ran, is enough to restore a
// service, because the read models are rebuilt from the log.
func TestRestore(t *testing.T) {
	t.Parallel()
	folder, restored := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"kept","tags":["old"]}]}`)
	if redirected, err := visit(t.Context(), d.base, "kept", "agent"); err != nil || !redirected {
		t.Fatalf("redirected: %t, %v", redirected, err)
	}
	if err := os.Mkdir(restored, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, log, code := command(
		t, "eventstore", "backup", filepath.Join(folder, "events"), filepath.Join(restored, "events"),
	); code != 0 {
		t.Fatalf("backup: %s%s", out, log)
	}
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"late"}]}`)
	d.interrupt()

	again := startDev(t, restored)
	again.key = d.key
	urls := again.call("GET", "/urls", "")["urls"].([]any)
	if len(urls) != 1 {
		t.Fatalf("restored: %v", urls)
	}
	if restored := urls[0].(map[string]any); restored["hash"] != "kept" || restored["total_clicks"] != 1.0 ||
		len(restored["tags"].([]any)) != 1 {
		t.Errorf("restored: %v", restored)
	}
	operator(t, restored, "projections", "verify", "--all")
	again.interrupt()
}
