package operations_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/events/embedded/storecheck"
)

func TestHealthOfTheStore(t *testing.T) {
	t.Parallel()
	s := e2etest.StartStore(t, filepath.Join(t.TempDir(), "events"), "--health-listen=127.0.0.1:0")
	for method, want := range map[string]int{
		http.MethodGet: http.StatusNoContent, http.MethodHead: http.StatusNoContent,
		http.MethodPost: http.StatusMethodNotAllowed,
	} {
		request, err := http.NewRequestWithContext(t.Context(), method, s.Health, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); response.StatusCode != want {
			t.Errorf("%s: %d, want %d", method, response.StatusCode, want)
		}
	}
	s.Interrupt()
}

// TestEventStoreTools checks that stat, check and backup give the same results for a running and
// for a stopped store.
func TestEventStoreTools(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder := filepath.Join(parent, "events")
	store := e2etest.StartStore(t, folder)
	if err := e2etest.AppendLink(t, store.URL, e2etest.StartTimeout); err != nil {
		t.Fatal(err)
	}
	tools := func(dir, backup string, running bool) {
		t.Helper()
		var stat storeStat
		out, log, code := e2etest.Command(t, "eventstore", "stat", dir, "--json")
		if err := json.Unmarshal([]byte(out), &stat); err != nil || code != 0 || stat.Running != running ||
			stat.Events != 8 || stat.Head == 0 {
			t.Errorf("stat of %s: %d %s%s", dir, code, out, log)
		}
		var checked storecheck.Report
		out, log, code = e2etest.Command(t, "eventstore", "check", dir, "--json")
		if err := json.Unmarshal([]byte(out), &checked); err != nil || code != 0 || checked.Events != 8 ||
			checked.Problems != 0 {
			t.Errorf("check of %s: %d %s%s", dir, code, out, log)
		}
		out, log, code = e2etest.Command(t, "eventstore", "backup", dir, backup)
		if code != 0 || !strings.Contains(out, backup) {
			t.Errorf("backup of %s: %d %s%s", dir, code, out, log)
		}
		if out, log, code = e2etest.Command(t, "eventstore", "backup", dir, backup); code != 0 {
			t.Errorf("another backup of %s to the same folder: %d %s%s", dir, code, out, log)
		}
		if out, log, code = e2etest.Command(t, "eventstore", "check", backup); code != 0 ||
			!strings.Contains(out, "backup of 20") {
			t.Errorf("check of the backup of %s: %d %s%s", dir, code, out, log)
		}
		if out, log, code = e2etest.Command(t, "eventstore", "backup", dir, dir); code == 0 ||
			strings.Count(log, "\n") != 1 {
			t.Errorf("backup of %s to a folder that is no backup: %d %s%s", dir, code, out, log)
		}
	}
	tools(folder, filepath.Join(parent, "copy"), true)
	tools(filepath.Join(parent, "copy"), filepath.Join(parent, "copy of the copy"), false)
	// A killed process leaves its socket behind.
	store.Kill()
	if _, err := os.Stat(filepath.Join(folder, "admin.sock")); err != nil {
		t.Error(err)
	}
	tools(folder, filepath.Join(parent, "copy after the crash"), false)
	store = e2etest.StartStore(t, folder)
	tools(folder, filepath.Join(parent, "another copy"), true)
	store.Interrupt()
	if _, err := os.Stat(filepath.Join(folder, "admin.sock")); err == nil {
		t.Error("the socket was not removed")
	}
}

// TestEventStoreRefusals checks that an error that the operator can fix is reported in one line
// with exit code 2, and that a folder that cannot be used is not changed.
func TestEventStoreRefusals(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder := filepath.Join(parent, "events")
	e2etest.StartStore(t, folder)
	newer := filepath.Join(parent, "newer")
	if err := os.Mkdir(newer, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(newer, "FORMAT"), []byte("linkledger events 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate, key := e2etest.WriteCertificate(t, parent)
	for want, args := range map[string][]string{
		"already open":               {"--data", folder},
		"newer format":               {"--data", newer},
		"no event store":             {"stat", parent},
		"there is no event":          {"backup", parent, filepath.Join(parent, "copy")},
		"--tls-key":                  {"--data", parent, "--tls-certificate", certificate},
		"--password":                 {"--data", parent, "--user", "linker"},
		"needs --tls-certificate":    {"--data", parent, "--user", "linker", "--password", "secret"},
		"cannot use the TLS":         {"--data", parent, "--tls-certificate", key, "--tls-key", key},
		"--max-append-size":          {"--data", parent, "--max-append-size", "0"},
		"is not valid for --listen ": {"serve", "--data", parent, "--listen", "nowhere"},
	} {
		if args[0] == "--data" {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		_, log, code := e2etest.Command(t, append([]string{"eventstore"}, args...)...)
		if code != e2etest.ExitUsage || !strings.Contains(log, want) || strings.Count(log, "\n") != 1 {
			t.Errorf("%q: %d %s; want %q in one line", args, code, log, want)
		}
	}
	if left, err := os.ReadDir(newer); err != nil || len(left) != 1 {
		t.Errorf("the newer folder holds %v, %v", left, err)
	}
	wantMode(t, newer, fs.ModeDir|0o755)
}

func TestEventStoreWithTLS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certificate, key := e2etest.WriteCertificate(t, folder)
	store := e2etest.StartStore(t, filepath.Join(folder, "events"), "--tls-certificate", certificate, "--tls-key", key,
		"--user", "linker", "--password", "secret", "--max-append-size", "1000")
	address, err := url.Parse(store.URL)
	if err != nil || address.Query().Get("tls") != "true" {
		t.Fatalf("its connection string is %s, %v", store.URL, err)
	}
	query := address.Host + "?tls=true&tlsCaFile=" + url.QueryEscape(certificate)
	if err := e2etest.AppendLink(t, "esdb://linker:secret@"+query, e2etest.StartTimeout); err != nil {
		t.Errorf("with the password: %v", err)
	}
	if err := e2etest.AppendLink(t, "esdb://linker:guess@"+query, time.Second); err == nil {
		t.Error("a wrong password was accepted")
	}
	if err := e2etest.AppendLink(t, "esdb://"+query, time.Second); err == nil {
		t.Error("no password was accepted")
	}
	e2etest.WriteCertificate(t, folder) // in place of the former one, which clients trust no longer
	deadline := time.Now().Add(e2etest.StartTimeout)
	for e2etest.AppendLink(t, "esdb://linker:secret@"+query, 2*time.Second) != nil {
		if time.Now().After(deadline) {
			t.Fatal("the store does not use its new certificate")
		}
	}
}

// TestEventStoreCheckFindsDamage checks that check reports a damaged event with its position.
func TestEventStoreCheckFindsDamage(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "events")
	store := e2etest.StartStore(t, folder)
	if err := e2etest.AppendLink(t, store.URL, e2etest.StartTimeout); err != nil {
		t.Fatal(err)
	}
	store.Interrupt()
	e2etest.StartStore(t, folder).Interrupt() // opening the store moves the log into a table
	damaged := 0
	tables, err := filepath.Glob(filepath.Join(folder, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		content, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(content, []byte("https://example.com")); at >= 0 {
			content[at] ^= 1
			damaged++
		}
		if err := os.WriteFile(table, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, log, code := e2etest.Command(t, "eventstore", "check", folder)
	if damaged != 1 || code != e2etest.ExitFailed || !regexp.MustCompile(`(?m)^position [1-9]\d* `).MatchString(out) {
		t.Errorf("%d tables damaged, check: %d\n%s%s", damaged, code, out, log)
	}
}
