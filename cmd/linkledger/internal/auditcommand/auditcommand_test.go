package auditcommand_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/cmd/linkledger/internal/auditcommand"
	"linkledger/cmd/linkledger/internal/command/commandtest"
	"linkledger/commands"
	"linkledger/internal/installation/installationtest"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

func root() any {
	return new(struct {
		Audit auditcommand.Audit `cmd:""`
	})
}

// TestLinks reads and restores links.
func TestLinks(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	i.Create(commands.CreateURL{LongURL: "https://example.com/one", CustomHash: "one"})
	c := commandtest.New(t, root, auditcommand.HelpTexts, i)
	c.Prints("audit history one --format csv --account acme", "https://example.com/one")
	if out := c.Prints("audit history one --format ndjson --by none"); strings.Contains(out, "example.com") {
		t.Errorf("changes of others are shown\n%s", out)
	}
	tomorrow := time.Now().AddDate(0, 0, 2).UTC()
	c.Prints("audit at one --time "+tomorrow.Format(time.DateOnly), "https://example.com/one")
	c.Prints("audit at one --time "+tomorrow.Format(time.RFC3339)+" --json", `"https://example.com/one"`)
	i.Delete("one")
	c.Prints("audit restore one --base-url https://sho.rt", "one\t\"https://example.com/one\"")
	c.Refuses("audit undo none", "the id of a batch is a UUID")
	if _, err := c.Run("audit undo " + uuid.NewString()); err == nil {
		t.Error("an unknown batch is undone")
	}

	file := filepath.Join(t.TempDir(), "export")
	c.Prints("audit export --account acme --from 2001-01-01 --output " + file)
	exported, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(exported), "https://example.com/one") {
		t.Errorf("exported %s, %v", exported, err)
	}
	check := commandtest.New(t, root, auditcommand.HelpTexts, nil)
	check.Prints("audit import-check "+file, "events")
	if err := os.WriteFile(file, append(exported, "{}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := check.Run("audit import-check " + file); err == nil {
		t.Error("a changed file fits its manifest")
	}
	if out := c.Prints("audit export --format csv --to 2001-01-01"); strings.Contains(out, "example.com") {
		t.Errorf("events after the end are exported\n%s", out)
	}
}

// TestTimes checks which times are understood.
func TestTimes(t *testing.T) {
	t.Parallel()
	c := commandtest.New(t, root, auditcommand.HelpTexts, nil)
	for _, wrong := range []string{"yesterday", "2026-13-01", "2026-01-31T12:00", "1"} {
		if _, err := c.Run("audit at one --time " + wrong); err == nil || !strings.Contains(err.Error(), "neither a time such as") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestProofs makes a key, and signs, proves and verifies with it.
func TestProofs(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	i.Create(commands.CreateURL{LongURL: "https://example.com/one", CustomHash: "one"})
	alone := commandtest.New(t, root, auditcommand.HelpTexts, nil)
	c := commandtest.New(t, root, auditcommand.HelpTexts, i)
	folder := t.TempDir()
	public := strings.TrimSpace(alone.Prints("audit key --name sho.rt "+filepath.Join(folder, "key"), "sho.rt+"))
	secret, err := os.ReadFile(filepath.Join(folder, "key"))
	if err != nil {
		t.Fatal(err)
	}
	signing := []string{"--signing-key", strings.TrimSpace(string(secret))}
	head, proofs := filepath.Join(folder, "head"), filepath.Join(folder, "proofs")
	for file, args := range map[string]string{head: "audit checkpoint", proofs: "audit prove one"} {
		out, err := c.Run(args, signing...)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := alone.Run("audit verify-proof "+proofs, "--public-key", public); err != nil || !strings.Contains(out, "url.created.v1") {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := alone.Run("audit verify-proof "+head, "--public-key", public); err == nil {
		t.Error("a head is a proof")
	}
	if out, err := c.Run("audit verify --checkpoint "+head, "--public-key", public); err != nil {
		t.Errorf("%s, %v", out, err)
	}
}
