package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/proof"
)

// TestAuditProof checks that an auditor who keeps signed heads elsewhere finds an event that the
// owner of the machine altered: first with the event store's files altered, then with the tree in
// PostgreSQL rebuilt from them.
func TestAuditProof(t *testing.T) {
	t.Parallel()
	folder, auditor := filepath.Join(t.TempDir(), "data"), t.TempDir()
	keyFile, heads := filepath.Join(auditor, "key"), filepath.Join(auditor, "heads")
	proofs := filepath.Join(auditor, "proofs")
	public := strings.TrimSpace(must(t, "audit", "key", keyFile, "--name", "sho.rt"))
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	signing := "--signing-key=" + strings.TrimSpace(string(key))
	d := startDev(t, folder)
	d.call(
		"POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"one"},{"long_url":"https://example.org/","custom_hash":"two"}]}`,
	)
	first := operator(t, folder, "audit", "checkpoint", signing)
	d.call("PATCH", "/urls/one", `{"urls":[{"note":"edited","custom_hash":"uno"}]}`)
	served := d.call("GET", "/urls/uno/proof", "")["proof"].(map[string]any)
	write(t, proofs, served["file"].(string))
	byAPI := must(t, "audit", "verify-proof", proofs, "--public-key", served["head"].(map[string]any)["public_key"].(string))
	if !strings.Contains(byAPI, "url.created.v1") || !strings.Contains(byAPI, "url.renamed.v1") {
		t.Errorf("the proof of the API:\n%s", byAPI)
	}
	d.interrupt() // so that no event of these calls is appended after the checkpoint below
	d = startDev(t, folder)
	second := operator(t, folder, "audit", "checkpoint", signing)
	write(t, heads, first+second)
	operator(t, folder, "projections", "rebuild", "tree")
	if again := operator(t, folder, "audit", "checkpoint", signing); again != second {
		t.Errorf("the head after a rebuild is %s, want %s", again, second)
	}

	write(t, proofs, operator(t, folder, "audit", "prove", "one", signing, "--since", heads, "--public-key", public))
	verified := must(t, "audit", "verify-proof", proofs, "--public-key", public)
	if strings.Count(verified, "continues the head of") != 2 || !strings.Contains(verified, "url.renamed.v1") ||
		!strings.Contains(verified, "hash.claimed.v1") {
		t.Errorf("proofs:\n%s", verified)
	}
	write(t, proofs, operator(t, folder, "audit", "prove", "two", "--checkpoint", heads, "--public-key", public))
	must(t, "audit", "verify-proof", proofs, "--public-key", public)
	if sound := operator(
		t, folder, "audit", "verify", "--checkpoint", heads, "--public-key", public,
	); !strings.Contains(sound, "signed heads that fit: 2") {
		t.Errorf("verify: %s", sound)
	}
	export := filepath.Join(auditor, "log")
	if root := lastWord(
		operator(t, folder, "audit", "export", "--output", export),
	); !strings.Contains(operator(t, folder, "audit", "verify"), root) {
		t.Errorf("the export has another root hash, %s", root)
	}

	d.interrupt()
	at := alterStored(t, filepath.Join(folder, "events"), "https://example.org/", "https://example.net/")
	d = startDev(t, folder)
	verify := []string{"audit", "verify", "--json", "--data", folder, "--public-key", public}
	for _, c := range []struct{ of, checkpoint, prepare string }{
		{"log or tree", "", ""},
		{"log", heads, ""},
		{"", "", "rebuild"}, // the rebuilt tree matches the altered log, and no signed head is given
		{"log", heads, ""},
	} {
		if c.prepare != "" {
			operator(t, folder, "projections", c.prepare, "tree")
		}
		args := slices.Clone(verify)
		if c.checkpoint != "" {
			args = append(args, "--checkpoint", c.checkpoint)
		}
		out, log, code := command(t, args...)
		var found logFindings
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatalf("%v: %s%s", err, out, log)
		}
		switch a := found.Alteration; {
		case c.of == "":
			if code != 0 || a != nil {
				t.Errorf("after a rebuild: %d, %s%s", code, out, log)
			}
		case code != exitFailed || a == nil || a.Of != c.of || a.First.Position > at || a.Last.Position < at:
			t.Errorf("%+v: %d, %s%s, want %d", c, code, out, log, at)
		}
	}
	if _, log, code := command(
		t, "audit", "prove", "two", "--checkpoint", heads, "--public-key", public, "--data", folder,
	); code != exitFailed ||
		!strings.Contains(log, "was altered") {
		t.Errorf("prove with an altered log: %d, %s", code, log)
	}
	d.interrupt()
}

func TestAuditProofRefusals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	public := strings.TrimSpace(must(t, "audit", "key", file))
	for want, args := range map[string][]string{
		"exists":            {"key", file},
		"no name of a key":  {"key", file + "2", "--name", "two words"},
		"LINKLEDGER_PUBLIC": {"verify-proof", file},
		"nothing to prove":  {"prove"},
		"no head that":      {"verify", "--checkpoint", file, "--public-key", public},
		"printed":           {"verify", "--checkpoint", file, "--public-key", "x"},
	} {
		if _, log, code := command(t, append([]string{"audit"}, args...)...); code != exitUsage ||
			!strings.Contains(log, want) {
			t.Errorf("%v: %d, %s", args, code, log)
		}
	}
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	if _, log, code := command(t, "audit", "checkpoint", "--data", folder); code != exitUsage ||
		!strings.Contains(log, "linkledger audit key FILE") {
		t.Errorf("without a key: %d, %s", code, log)
	}
	if _, log, code := command(
		t, "audit", "checkpoint", "--data", folder, "--signing-key", "secret-of-mine",
	); code != exitUsage || strings.Contains(log, "secret-of-mine") {
		t.Errorf("with a wrong key: %d, %s", code, log)
	}
	private, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	key, heads := strings.TrimSpace(string(private)), file+".heads"
	signed := operator(t, folder, "audit", "checkpoint", "--signing-key", key)
	for size, want := range map[int64]string{1: "contradict each other", 1000: "the head is of 1000 events"} {
		foreign, err := proof.Sign(tlog.Tree{N: size}, key)
		if err != nil {
			t.Fatal(err)
		}
		write(t, heads, signed+foreign.Signed)
		args := []string{"audit", "verify"}
		if size > 1 {
			args = []string{"audit", "prove", "--since", heads}
		}
		args = append(args, "--checkpoint", heads, "--public-key", public, "--data", folder)
		if _, log, code := command(t, args...); code != exitFailed || !strings.Contains(log, want) {
			t.Errorf("prove with a head of another log: %d, %s", code, log)
		}
	}
	d.interrupt()
}

// must runs a command that needs no installation, and fails the test if the command fails.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, log, code := command(t, args...)
	if code != 0 {
		t.Fatalf("%v: %d, %s%s", args, code, out, log)
	}
	return out
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lastWord(text string) string {
	words := strings.Fields(text)
	return words[len(words)-1]
}

// alterStored alters the only event of a stopped event store that contains bytesBefore. It does so
// in the format of the files, as the owner of the machine could, so that the store's own check
// finds no damage. It returns the event's position.
func alterStored(t *testing.T, folder, bytesBefore, bytesAfter string) (position uint64) {
	t.Helper()
	db, err := pebble.Open(folder, &pebble.Options{FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	events, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{1}, UpperBound: []byte{2}})
	if err != nil {
		t.Fatal(err)
	}
	for events.First(); events.Valid(); events.Next() {
		if !bytes.Contains(events.Value(), []byte(bytesBefore)) ||
			!bytes.Contains(events.Value(), []byte("url.created.v1")) {
			continue
		}
		altered := bytes.Replace(events.Value(), []byte(bytesBefore), []byte(bytesAfter), 1)
		body := altered[:len(altered)-4]
		binary.BigEndian.PutUint32(altered[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		if err := db.Set(events.Key(), altered, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		position = binary.BigEndian.Uint64(events.Key()[1:])
	}
	if err := events.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if position == 0 {
		t.Fatal("no event was altered")
	}
	if out, log, code := command(t, "eventstore", "check", folder); code != 0 {
		t.Fatalf("the store's check finds the alteration: %s%s", out, log)
	}
	return position
}
