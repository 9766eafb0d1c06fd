package httpapi_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi"
	"linkledger/internal/soak"
)

// TestGeneratedClient generates a client from the description, as users generate theirs, and runs testdata/generated,
// which calls a stack with it. The generator is the version that the module there pins.
func TestGeneratedClient(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	s := httpapitest.New(t)
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	account := s.Client(t, "alice")

	module := t.TempDir()
	if err := os.CopyFS(module, os.DirFS("testdata/generated")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "openapi.json"), openapi.Source(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"tool", "oapi-codegen", "-config", "oapi-codegen.yaml", "openapi.json"},
		{"run", ".", server.URL, account.Username, account.Key},
	} {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir, command.Env = module, append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, output)
		}
	}
}
