package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/embedded/storecheck"
	"linkledger/events/eventstore"
)

// storeProcess is a running linkledger eventstore of a test.
type storeProcess struct {
	t       *testing.T
	process *exec.Cmd
	url     string
	health  string // with --health-listen
	ended   chan struct{}
}

var (
	readyLine  = regexp.MustCompile(`msg="event store is ready" url="([^"]+)"`)
	healthLine = regexp.MustCompile(`msg="health is served" url=(\S+)`)
)

// startStore starts the real program and waits until it is ready.
func startStore(t *testing.T, folder string, flags ...string) *storeProcess {
	t.Helper()
	args := append([]string{"eventstore", "--data", folder, "--listen", "127.0.0.1:0"}, flags...)
	s := &storeProcess{t: t, process: exec.Command(program, args...), ended: make(chan struct{})}
	stderr, err := s.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	ready, healthy := make(chan string, 1), make(chan string, 1)
	var log strings.Builder // valid after the process has ended
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			log.WriteString(lines.Text() + "\n")
			if found := readyLine.FindStringSubmatch(lines.Text()); found != nil {
				ready <- found[1]
			}
			if found := healthLine.FindStringSubmatch(lines.Text()); found != nil {
				healthy <- found[1]
			}
		}
		_ = s.process.Wait() // how it ended is for the test to judge
		close(s.ended)
	}()
	t.Cleanup(s.kill)
	select {
	case s.url = <-ready:
	case <-s.ended:
		t.Fatalf("the event store ended before it was ready:\n%s", log.String())
	case <-time.After(startTimeout):
		t.Fatal("the event store was not ready in time")
	}
	if slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--health-listen") }) {
		s.health = <-healthy
	}
	return s
}

func TestHealthOfTheStore(t *testing.T) {
	t.Parallel()
	s := startStore(t, filepath.Join(t.TempDir(), "events"), "--health-listen=127.0.0.1:0")
	for method, want := range map[string]int{
		http.MethodGet: http.StatusNoContent, http.MethodHead: http.StatusNoContent,
		http.MethodPost: http.StatusMethodNotAllowed,
	} {
		request, err := http.NewRequestWithContext(t.Context(), method, s.health, nil)
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
	s.interrupt()
}

// kill ends the process as a power failure would.
func (s *storeProcess) kill() {
	_ = s.process.Process.Kill() // an error means that it has ended
	<-s.ended
}

// interrupt ends the process as Ctrl-C does.
func (s *storeProcess) interrupt() {
	s.t.Helper()
	if err := s.process.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	<-s.ended
	if code := s.process.ProcessState.ExitCode(); code != 0 {
		s.t.Fatalf("the event store stopped with %d", code)
	}
}

// command runs the program until it ends.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return commandIn(t, nil, args...)
}

// commandIn is command with additional environment variables.
func commandIn(t *testing.T, environment []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	process := exec.CommandContext(t.Context(), program, args...)
	process.Env = append(os.Environ(), environment...)
	var out, log bytes.Buffer
	process.Stdout, process.Stderr = &out, &log
	_ = process.Run() // the exit code is returned
	return out.String(), log.String(), process.ProcessState.ExitCode()
}

// runWith runs a command in the given environment only.
func runWith(t *testing.T, environment map[string]string, args ...string) (output string, err error) {
	t.Helper()
	process := exec.CommandContext(t.Context(), program, args...)
	process.Env = append([]string{}, pairs(environment)...) // never nil, which would mean the test's environment
	out, err := process.CombinedOutput()
	return string(out), err
}

func appendLink(t *testing.T, connection string, timeout time.Duration) error {
	t.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: connection})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	_, err = store.Append(ctx, eventstore.Write{
		Stream: "url-" + uuid.NewString(), Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.URLRetargeted{LongURL: "https://example.com/"}},
	})
	return err
}

// TestEventStoreTools checks that stat, check and backup give the same results for a running and
// for a stopped store.
func TestEventStoreTools(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder := filepath.Join(parent, "events")
	store := startStore(t, folder)
	if err := appendLink(t, store.url, startTimeout); err != nil {
		t.Fatal(err)
	}
	tools := func(dir, backup string, running bool) {
		t.Helper()
		var stat storeStat
		out, log, code := command(t, "eventstore", "stat", dir, "--json")
		if err := json.Unmarshal([]byte(out), &stat); err != nil || code != 0 || stat.Running != running ||
			stat.Events != 8 || stat.Head == 0 {
			t.Errorf("stat of %s: %d %s%s", dir, code, out, log)
		}
		var checked storecheck.Report
		out, log, code = command(t, "eventstore", "check", dir, "--json")
		if err := json.Unmarshal([]byte(out), &checked); err != nil || code != 0 || checked.Events != 8 ||
			checked.Problems != 0 {
			t.Errorf("check of %s: %d %s%s", dir, code, out, log)
		}
		out, log, code = command(t, "eventstore", "backup", dir, backup)
		if code != 0 || !strings.Contains(out, backup) {
			t.Errorf("backup of %s: %d %s%s", dir, code, out, log)
		}
		if out, log, code = command(t, "eventstore", "backup", dir, backup); code != 0 {
			t.Errorf("another backup of %s to the same folder: %d %s%s", dir, code, out, log)
		}
		if out, log, code = command(t, "eventstore", "check", backup); code != 0 ||
			!strings.Contains(out, "backup of 20") {
			t.Errorf("check of the backup of %s: %d %s%s", dir, code, out, log)
		}
		if out, log, code = command(t, "eventstore", "backup", dir, dir); code == 0 ||
			strings.Count(log, "\n") != 1 {
			t.Errorf("backup of %s to a folder that is no backup: %d %s%s", dir, code, out, log)
		}
	}
	tools(folder, filepath.Join(parent, "copy"), true)
	tools(filepath.Join(parent, "copy"), filepath.Join(parent, "copy of the copy"), false)
	// A killed process leaves its socket behind.
	store.kill()
	if _, err := os.Stat(filepath.Join(folder, "admin.sock")); err != nil {
		t.Error(err)
	}
	tools(folder, filepath.Join(parent, "copy after the crash"), false)
	store = startStore(t, folder)
	tools(folder, filepath.Join(parent, "another copy"), true)
	store.interrupt()
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
	startStore(t, folder)
	newer := filepath.Join(parent, "newer")
	if err := os.Mkdir(newer, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(newer, "FORMAT"), []byte("linkledger events 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate, key := writeCertificate(t, parent)
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
		_, log, code := command(t, append([]string{"eventstore"}, args...)...)
		if code != exitUsage || !strings.Contains(log, want) || strings.Count(log, "\n") != 1 {
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
	certificate, key := writeCertificate(t, folder)
	store := startStore(t, filepath.Join(folder, "events"), "--tls-certificate", certificate, "--tls-key", key,
		"--user", "linker", "--password", "secret", "--max-append-size", "1000")
	address, err := url.Parse(store.url)
	if err != nil || address.Query().Get("tls") != "true" {
		t.Fatalf("its connection string is %s, %v", store.url, err)
	}
	query := address.Host + "?tls=true&tlsCaFile=" + url.QueryEscape(certificate)
	if err := appendLink(t, "esdb://linker:secret@"+query, startTimeout); err != nil {
		t.Errorf("with the password: %v", err)
	}
	if err := appendLink(t, "esdb://linker:guess@"+query, time.Second); err == nil {
		t.Error("a wrong password was accepted")
	}
	if err := appendLink(t, "esdb://"+query, time.Second); err == nil {
		t.Error("no password was accepted")
	}
	writeCertificate(t, folder) // in place of the former one, which clients trust no longer
	deadline := time.Now().Add(startTimeout)
	for appendLink(t, "esdb://linker:secret@"+query, 2*time.Second) != nil {
		if time.Now().After(deadline) {
			t.Fatal("the store does not use its new certificate")
		}
	}
}

// writeCertificate creates a self-signed certificate for this machine.
func writeCertificate(t *testing.T, folder string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("server.crt", "CERTIFICATE", signed), write("server.key", "PRIVATE KEY", secret)
}

// TestEventStoreCheckFindsDamage checks that check reports a damaged event with its position.
func TestEventStoreCheckFindsDamage(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "events")
	store := startStore(t, folder)
	if err := appendLink(t, store.url, startTimeout); err != nil {
		t.Fatal(err)
	}
	store.interrupt()
	startStore(t, folder).interrupt() // opening the store moves the log into a table
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
	out, log, code := command(t, "eventstore", "check", folder)
	if damaged != 1 || code != exitFailed || !regexp.MustCompile(`(?m)^position [1-9]\d* `).MatchString(out) {
		t.Errorf("%d tables damaged, check: %d\n%s%s", damaged, code, out, log)
	}
}
