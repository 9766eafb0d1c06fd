package outages_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

// TestStartOrder checks that a service that starts before its database and event store waits for
// them and logs this.
func TestStartOrder(t *testing.T) {
	t.Parallel()
	i := installtest.NotStarted(t)
	backends := i.Backends()
	i.StopDatabase()
	service, log := installtest.NewService(i, append(backends, "--log-format=json")...)
	log.Await(`"dependency":"database"`, "waiting")
	e2etest.AwaitReady(t, i.Admin, http.StatusServiceUnavailable, `"database":"`)
	if code, _ := e2etest.Scrape(t, i.Admin+"/health/live"); code != http.StatusNoContent {
		t.Errorf("live: %d", code)
	}
	i.StartDatabase()
	t.Cleanup(i.StopDatabase)
	log.Await(`"dependency":"database"`, "the dependency answers")
	log.Await(`"dependency":"event store"`, "waiting")
	e2etest.AwaitReady(t, i.Admin, http.StatusServiceUnavailable, "event store unavailable")
	i.StartStore()
	log.Await(`"dependency":"event store"`, "the dependency answers")
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, "ok")
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.Await("stopping")
	if err := service.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// TestStopWhileWaiting checks that a service that waits for its backends stops on a signal.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	i := installtest.NotStarted(t)
	backends := i.Backends()
	i.StopDatabase()
	service, log := installtest.NewService(i, backends...)
	log.Await("dependency=database", "waiting")
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
	i := installtest.NotStarted(t)
	t.Cleanup(i.StopDatabase)
	i.StartStore()
	certificate, key := e2etest.WriteCertificate(t, i.Folder)
	secured := e2etest.StartStore(
		t, filepath.Join(i.Folder, "secured"), "--tls-certificate", certificate, "--tls-key", key, "--user", "linker",
		"--password", "right",
	)
	address, err := url.Parse(secured.URL)
	if err != nil {
		t.Fatal(err)
	}
	database := i.Database.DSN()
	changed := func(change func(*url.URL)) string {
		u, err := url.Parse(database)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	store := "esdb://" + i.StoreAddress + "?tls=false"
	for want, backends := range map[string][2]string{
		"does not exist": {store, changed(func(u *url.URL) { u.Path = "/nothing" })},
		"nobodyelse":     {store, changed(func(u *url.URL) { u.User = url.UserPassword("nobodyelse", "hunter2") })},
		"--eventstore (LINKLEDGER_EVENTSTORE) needs other credentials": {
			"esdb://linker:hunter2@" + address.Host + "?tls=true&tlsCaFile=" + url.QueryEscape(certificate), database,
		},
	} {
		out, log, code := e2etest.Command(t, "serve", "--eventstore", backends[0], "--database", backends[1], "--roles=api", "--log-level=error",
			"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")
		if code != e2etest.ExitUsage || !strings.Contains(log, want) || strings.Contains(out+log, "hunter2") {
			t.Errorf("ended with %d, want %q:\n%s%s", code, want, out, log)
		}
	}
}

// TestDrainAndSecondSignal checks that a service that is stopping is not ready, and continues to
// serve until load balancers have noticed. A second signal ends the wait for them.
func TestDrainAndSecondSignal(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	second := *i
	second.Base, second.Admin, second.Folder = "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t), t.TempDir()
	service, log := installtest.NewService(
		&second, append(i.Backends(), "--drain-delay=10m", "--log-format=json", "--log-level=debug")...,
	)
	log.Await(`"msg":"serving"`)
	e2etest.AwaitReady(t, second.Admin, http.StatusOK, "ok")
	health := []string{"health", "--admin-listen", second.Admin[len("http://"):]}
	if out, _, code := e2etest.Command(t, health...); code != 0 || !strings.Contains(out, `"database":"ok"`) {
		t.Errorf("health: %d %s", code, out)
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.Await("stopping", `"drain_delay":600`)
	e2etest.AwaitReady(t, second.Admin, http.StatusServiceUnavailable, `"process":"context canceled"`)
	if _, said, code := e2etest.Command(t, health...); code != e2etest.ExitFailed || !strings.Contains(said, "not ready") {
		t.Errorf("health: %d %s", code, said)
	}
	if _, said, code := e2etest.Command(t, append(health, "--live")...); code != 0 {
		t.Errorf("alive: %d %s", code, said)
	}
	if _, err := e2etest.Call(t.Context(), second.Base, i.Key, "GET", "/account", ""); err != nil {
		t.Errorf("call to a service that is draining: %v", err)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(log.Await(`"msg":"request"`)), &line); err != nil {
		t.Fatal(err)
	}
	seconds, _ := line["duration"].(float64)
	if line["request"] == "" || line["account"] != e2etest.DemoUser || line["route"] != "/v3/account" || seconds <= 0 ||
		seconds > e2etest.StartTimeout.Seconds() {
		t.Errorf("the request is logged as %v", line)
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.Await("without further delay")
	if err := service.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}
