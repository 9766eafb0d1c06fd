// This file has the services of an installation, and what operators and probes ask them.

package installtest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
)

// Node is one of several services of an installation.
type Node struct {
	*Child
	Base, Admin, Spool string
	Flags              []string
}

// Lines are the lines that a process logs, as it writes them.
type Lines struct {
	t    *testing.T
	read chan string
}

// LogOf returns the lines that a process will log. It MUST be called before the process starts.
func LogOf(t *testing.T, process *exec.Cmd) *Lines {
	t.Helper()
	output, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	l := &Lines{t: t, read: make(chan string, 1000)}
	go func() {
		scanner := bufio.NewScanner(output)
		for scanner.Scan() {
			l.read <- scanner.Text()
		}
		_, _ = io.Copy(io.Discard, output)
		close(l.read)
	}()
	return l
}

// Await returns the next line that contains all parts.
func (l *Lines) Await(parts ...string) string {
	l.t.Helper()
	deadline := time.After(e2etest.StartTimeout)
	var before []string
	for {
		select {
		case line, more := <-l.read:
			if !more {
				l.t.Fatalf("the process has ended without a line with %q:\n%s", parts, strings.Join(before, "\n"))
			}
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return line
			}
			before = append(before, line)
		case <-deadline:
			l.t.Fatalf("no line with %q in\n%s", parts, strings.Join(before, "\n"))
		}
	}
}

// NotStarted returns an installation of which only the database runs.
func NotStarted(t *testing.T) *Installation {
	t.Helper()
	i := &Installation{
		T: t, Folder: t.TempDir(), Program: e2etest.Program, StoreAddress: FreeAddress(t),
		Base: "http://" + FreeAddress(t), Admin: "http://" + FreeAddress(t),
	}
	i.StartDatabase()
	return i
}

// NewService starts a service that need not become ready, and returns it with its log.
func NewService(i *Installation, args ...string) (*exec.Cmd, *Lines) {
	i.T.Helper()
	own := []string{
		"serve", "--listen", i.Base[len("http://"):], "--admin-listen", i.Admin[len("http://"):], "--spool",
		filepath.Join(i.Folder, "spool"),
	}
	process := exec.Command(i.Program, append(own, args...)...)
	log := LogOf(i.T, process)
	if err := process.Start(); err != nil {
		i.T.Fatal(err)
	}
	i.T.Cleanup(func() { _ = process.Process.Kill() }) // an error means that it has ended
	return process, log
}

// Operate runs a command on the installation.
func (i *Installation) Operate(args ...string) (stdout, stderr string, code int) {
	i.T.Helper()
	return e2etest.Command(i.T, append(args, i.Backends()...)...)
}

// OperatorRuns runs a command of operators, which must succeed.
func (i *Installation) OperatorRuns(args ...string) {
	i.T.Helper()
	if out, log, code := i.Operate(args...); code != 0 {
		i.T.Fatalf("%v ended with %d: %s%s", args, code, out, log)
	}
}

// Readiness returns the readiness of each part of a service, or nil if the service does not
// respond.
func Readiness(t *testing.T, admin string) map[string]string {
	t.Helper()
	response, err := http.Get(admin + "/health/ready")
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	var parts map[string]string
	if err := json.NewDecoder(response.Body).Decode(&parts); err != nil {
		return nil
	}
	return parts
}

// Metric returns the value of a metric, by its name and labels, or -1 if the service does not
// respond or is still starting.
func (i *Installation) Metric(name string) float64 {
	i.T.Helper()
	response, err := http.Get(i.Admin + "/metrics")
	if err != nil {
		return -1
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	if response.StatusCode != http.StatusOK {    // the service is starting
		return -1
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				i.T.Fatal(err)
			}
			return number
		}
	}
	if lines.Err() == nil {
		i.T.Fatalf("no metric %s", name)
	}
	return -1
}
