// This file runs commands of the program, and the event store as a process of its own.

package e2etest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
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
	"linkledger/events/eventstore"
)

// StoreProcess is a running linkledger eventstore of a test.
type StoreProcess struct {
	t       *testing.T
	process *exec.Cmd
	URL     string
	Health  string // URL of the health check, only with --health-listen
	Ended   chan struct{}
}

var (
	readyLine  = regexp.MustCompile(`msg="event store is ready" url="([^"]+)"`)
	healthLine = regexp.MustCompile(`msg="health is served" url=(\S+)`)
)

// StartStore starts the real program and waits until it is ready.
func StartStore(t *testing.T, folder string, flags ...string) *StoreProcess {
	t.Helper()
	args := append([]string{"eventstore", "--data", folder, "--listen", "127.0.0.1:0"}, flags...)
	s := &StoreProcess{t: t, process: exec.Command(Program, args...), Ended: make(chan struct{})}
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
		close(s.Ended)
	}()
	t.Cleanup(s.Kill)
	select {
	case s.URL = <-ready:
	case <-s.Ended:
		t.Fatalf("the event store ended before it was ready:\n%s", log.String())
	case <-time.After(StartTimeout):
		t.Fatal("the event store was not ready in time")
	}
	if slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--health-listen") }) {
		s.Health = <-healthy
	}
	return s
}

// Kill ends the process as a power failure would.
func (s *StoreProcess) Kill() {
	_ = s.process.Process.Kill() // an error means that it has ended
	<-s.Ended
}

// Interrupt ends the process as Ctrl-C does.
func (s *StoreProcess) Interrupt() {
	s.t.Helper()
	if err := s.process.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	<-s.Ended
	if code := s.process.ProcessState.ExitCode(); code != 0 {
		s.t.Fatalf("the event store stopped with %d", code)
	}
}

// Command runs the program until it ends.
func Command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return CommandIn(t, nil, args...)
}

// CommandIn is Command with additional environment variables.
func CommandIn(t *testing.T, environment []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	process := exec.CommandContext(t.Context(), Program, args...)
	process.Env = append(os.Environ(), environment...)
	var out, log bytes.Buffer
	process.Stdout, process.Stderr = &out, &log
	_ = process.Run() // the exit code is returned
	return out.String(), log.String(), process.ProcessState.ExitCode()
}

// RunWith runs a command in the given environment only.
func RunWith(t *testing.T, environment map[string]string, args ...string) (output string, err error) {
	t.Helper()
	process := exec.CommandContext(t.Context(), Program, args...)
	process.Env = append([]string{}, Pairs(environment)...) // never nil, which would mean the test's environment
	out, err := process.CombinedOutput()
	return string(out), err
}

// AppendLink appends one event to the stream of a new link.
func AppendLink(t *testing.T, connection string, timeout time.Duration) error {
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

// WriteCertificate creates a self-signed certificate for this machine.
func WriteCertificate(t *testing.T, folder string) (certificate, key string) {
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

// OpenStore returns a client of an event store.
func OpenStore(t *testing.T, url string) *eventstore.Store {
	t.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Pairs returns an environment as a process gets it, sorted.
func Pairs(environment map[string]string) []string {
	var all []string
	for name, value := range environment {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}
