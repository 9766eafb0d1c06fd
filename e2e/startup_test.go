package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lines are the lines that a process logs, as it writes them.
type lines struct {
	t    *testing.T
	read chan string
}

func logOf(t *testing.T, process *exec.Cmd) *lines {
	t.Helper()
	output, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	l := &lines{t: t, read: make(chan string, 1000)}
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

// await returns the next line that contains all parts.
func (l *lines) await(parts ...string) string {
	l.t.Helper()
	deadline := time.After(startTimeout)
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

// notStarted is an installation of which no part runs. Its database exists.
func notStarted(t *testing.T) *installation {
	t.Helper()
	i := &installation{
		t: t, folder: t.TempDir(), program: program, storeAddress: freeAddress(t),
		base: "http://" + freeAddress(t), admin: "http://" + freeAddress(t),
	}
	i.startDatabase()
	return i
}

// newService starts a service that need not become ready, and returns it with its log.
func newService(i *installation, args ...string) (*exec.Cmd, *lines) {
	i.t.Helper()
	own := []string{
		"serve", "--listen", i.base[len("http://"):], "--admin-listen", i.admin[len("http://"):], "--spool",
		filepath.Join(i.folder, "spool"),
	}
	process := exec.Command(i.program, append(own, args...)...)
	log := logOf(i.t, process)
	if err := process.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = process.Process.Kill() }) // an error means that it has ended
	return process, log
}

// TestStartOrder checks that a service that starts before its database and event store waits for
// them and logs this.
func TestStartOrder(t *testing.T) {
	t.Parallel()
	i := notStarted(t)
	backends := i.backends()
	i.stopDatabase()
	service, log := newService(i, append(backends, "--log-format=json")...)
	log.await(`"dependency":"database"`, "waiting")
	awaitReady(t, i.admin, http.StatusServiceUnavailable, `"database":"`)
	if code, _ := scrape(t, i.admin+"/health/live"); code != http.StatusNoContent {
		t.Errorf("live: %d", code)
	}
	i.startDatabase()
	t.Cleanup(i.stopDatabase)
	log.await(`"dependency":"database"`, "the dependency answers")
	log.await(`"dependency":"event store"`, "waiting")
	awaitReady(t, i.admin, http.StatusServiceUnavailable, "event store unavailable")
	i.startStore()
	log.await(`"dependency":"event store"`, "the dependency answers")
	awaitReady(t, i.admin, http.StatusOK, "ok")
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.await("stopping")
	if err := service.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// TestStopWhileWaiting checks that a service that waits for its backends stops on a signal.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	i := notStarted(t)
	backends := i.backends()
	i.stopDatabase()
	service, log := newService(i, backends...)
	log.await("dependency=database", "waiting")
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := service.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// TestWrongBackends checks that an error that waiting cannot fix ends the process immediately, with
// one line.
func TestWrongBackends(t *testing.T) {
	t.Parallel()
	i := notStarted(t)
	t.Cleanup(i.stopDatabase)
	i.startStore()
	certificate, key := writeCertificate(t, i.folder)
	secured := startStore(
		t, filepath.Join(i.folder, "secured"), "--tls-certificate", certificate, "--tls-key", key, "--user", "linker",
		"--password", "right",
	)
	address, err := url.Parse(secured.url)
	if err != nil {
		t.Fatal(err)
	}
	database := i.database.DSN()
	changed := func(change func(*url.URL)) string {
		u, err := url.Parse(database)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	store := "esdb://" + i.storeAddress + "?tls=false"
	for want, backends := range map[string][2]string{
		"does not exist": {store, changed(func(u *url.URL) { u.Path = "/nothing" })},
		"nobodyelse":     {store, changed(func(u *url.URL) { u.User = url.UserPassword("nobodyelse", "hunter2") })},
		"--eventstore (LINKLEDGER_EVENTSTORE) needs other credentials": {
			"esdb://linker:hunter2@" + address.Host + "?tls=true&tlsCaFile=" + url.QueryEscape(certificate), database,
		},
	} {
		out, log, code := command(t, "serve", "--eventstore", backends[0], "--database", backends[1], "--roles=api", "--log-level=error",
			"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")
		if code != exitUsage || !strings.Contains(log, want) || strings.Contains(out+log, "hunter2") {
			t.Errorf("ended with %d, want %q:\n%s%s", code, want, out, log)
		}
	}
}

// TestDrainAndSecondSignal checks that a service that is stopping is not ready, and continues to
// serve until load balancers have noticed. A second signal ends the wait for them.
func TestDrainAndSecondSignal(t *testing.T) {
	t.Parallel()
	i := install(t)
	second := *i
	second.base, second.admin, second.folder = "http://"+freeAddress(t), "http://"+freeAddress(t), t.TempDir()
	service, log := newService(
		&second, append(i.backends(), "--drain-delay=10m", "--log-format=json", "--log-level=debug")...,
	)
	log.await(`"msg":"serving"`)
	awaitReady(t, second.admin, http.StatusOK, "ok")
	health := []string{"health", "--admin-listen", second.admin[len("http://"):]}
	if out, _, code := command(t, health...); code != 0 || !strings.Contains(out, `"database":"ok"`) {
		t.Errorf("health: %d %s", code, out)
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.await("stopping", `"drain_delay":600`)
	awaitReady(t, second.admin, http.StatusServiceUnavailable, `"process":"context canceled"`)
	if _, said, code := command(t, health...); code != exitFailed || !strings.Contains(said, "not ready") {
		t.Errorf("health: %d %s", code, said)
	}
	if _, said, code := command(t, append(health, "--live")...); code != 0 {
		t.Errorf("alive: %d %s", code, said)
	}
	if _, err := call(t.Context(), second.base, i.key, "GET", "/account", ""); err != nil {
		t.Errorf("call to a service that is draining: %v", err)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(log.await(`"msg":"request"`)), &line); err != nil {
		t.Fatal(err)
	}
	seconds, _ := line["duration"].(float64)
	if line["request"] == "" || line["account"] != demoUser || line["route"] != "/v3/account" || seconds <= 0 ||
		seconds > startTimeout.Seconds() {
		t.Errorf("the request is logged as %v", line)
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.await("without further delay")
	if err := service.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}
