package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver"
)

// installation is the service, its event store and its database. Each is a process of its own that
// a test can kill.
type installation struct {
	t        *testing.T
	folder   string
	program  string // of the services that are started next
	store    *child
	service  *child
	database *pgserver.Server
	flags    []string // of the service, in addition to the flags that every service needs

	environment []string // of services, in addition to that of the test

	// dsn is how the services and commands reach the database. If empty, they connect directly.
	dsn string

	// network is between the event store and the services that are started next. If nil, they
	// connect directly.
	network *eventstoretest.Proxy

	storeAddress, base, admin, key string
}

// child is a running process of the program.
type child struct {
	process *exec.Cmd
	ended   chan struct{}
	output  bytes.Buffer // valid once ended
	memory  atomic.Int64 // peak of the resident memory so far, in kB
}

func startChild(t *testing.T, program string, args ...string) *child {
	t.Helper()
	return startChildIn(t, nil, program, args...)
}

// startChildIn starts a child with additional environment variables.
func startChildIn(t *testing.T, environment []string, program string, args ...string) *child {
	t.Helper()
	c := &child{process: exec.Command(program, args...), ended: make(chan struct{})}
	c.process.Env = append(os.Environ(), environment...)
	c.process.Stderr = &c.output
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.process.Wait() // the test checks the exit code
		close(c.ended)
	}()
	go c.watch()
	t.Cleanup(func() {
		c.kill()
		if said := c.output.Bytes(); t.Failed() && len(said) > 0 {
			t.Logf("%s last wrote:\n%s", args, said[max(0, len(said)-mostSaid):])
		}
	})
	return c
}

// mostSaid is how much of a process's output a failed test logs, in bytes.
const mostSaid = 2000

// watch reads the peak memory of the process until it ends. The peak that the system reports after
// the end includes the memory of the test, of which the process was a copy before it started the
// program.
func (c *child) watch() {
	for {
		// an error means that it has ended
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Process.Pid))
		if _, peak, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kB int64
			if _, err := fmt.Sscan(peak, &kB); err == nil {
				c.memory.Store(kB)
			}
		}
		select {
		case <-c.ended:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *child) kill() {
	_ = c.process.Process.Kill() // an error means that it has ended
	<-c.ended
}

// peak returns the process's peak of resident memory, in MB.
func (c *child) peak() int64 { return c.memory.Load() * 1024 / 1e6 }

// freeAddress returns an address on which a process can listen, and listen again after a restart.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener := eventstoretest.Listen(t)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// install starts all parts and opens an account.
func install(t *testing.T, flags ...string) *installation {
	t.Helper()
	return installProgram(t, program, flags...)
}

// installProgram starts all parts, with another build of the service.
func installProgram(t *testing.T, service string, flags ...string) *installation {
	t.Helper()
	i := &installation{
		t: t, folder: t.TempDir(), program: service, flags: flags, storeAddress: freeAddress(t),
		base: "http://" + freeAddress(t), admin: "http://" + freeAddress(t),
	}
	i.startStore()
	i.startDatabase()
	t.Cleanup(i.stopDatabase)
	i.startService()
	i.openAccount()
	return i
}

// openAccount opens the account that the calls of tests use.
func (i *installation) openAccount() {
	i.t.Helper()
	i.openAccountBy(i.backends()...)
}

func (i *installation) openAccountBy(backends ...string) {
	i.t.Helper()
	out, err := exec.Command(
		program, append([]string{"account", "create", "--username", demoUser, "--json"}, backends...)...,
	).Output()
	var account openedAccount
	if err == nil {
		err = json.Unmarshal(out, &account)
	}
	if err != nil {
		i.t.Fatal(err)
	}
	i.key = account.APIKey
}

func (i *installation) startStore() {
	i.t.Helper()
	i.store = startChild(
		i.t, program, "eventstore", "--data", filepath.Join(i.folder, "events"), "--listen", i.storeAddress,
	)
}

func (i *installation) startDatabase() {
	i.t.Helper()
	data := filepath.Join(i.folder, "postgres")
	if _, err := os.Stat(data); os.IsNotExist(err) {
		copyCluster(i.t, data)
	}
	ctx, cancel := context.WithTimeout(i.t.Context(), startTimeout)
	defer cancel()
	var err error
	i.database, err = pgserver.Start(ctx, pgserver.Config{
		Dir: data, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true,
	})
	if err != nil {
		i.t.Fatal(err)
	}
}

func (i *installation) stopDatabase() {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := i.database.Stop(ctx); err != nil {
		i.t.Error(err)
	}
}

func (i *installation) startService() {
	i.t.Helper()
	i.service = i.serve(i.base, i.admin, "spool", i.flags...)
}

// serve starts a service with its own addresses and spool.
func (i *installation) serve(base, admin, spool string, flags ...string) *child {
	i.t.Helper()
	args := []string{
		"serve", "--listen", base[len("http://"):], "--admin-listen", admin[len("http://"):], "--spool",
		filepath.Join(i.folder, spool),
	}
	service := startChildIn(i.t, i.environment, i.program, slices.Concat(args, i.backends(), flags)...)
	i.eventually("the service answers", func() bool {
		response, err := http.Get(admin + "/health/live")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	return service
}

// backends returns the flags that name the event store and the database.
func (i *installation) backends() []string {
	store := i.storeAddress
	if i.network != nil {
		store = i.network.Address()
	}
	return []string{"--eventstore", "esdb://" + store + "?tls=false", "--database", cmp.Or(i.dsn, i.database.DSN())}
}

// eventually waits until is returns true.
func (i *installation) eventually(what string, is func() bool) {
	i.t.Helper()
	deadline := time.After(startTimeout)
	for pause := 20 * time.Millisecond; !is(); pause = min(2*pause, 500*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline:
			i.t.Fatalf("not in time: %s", what)
		}
	}
}

// crowd visits links until stop is called.
type crowd struct {
	stop     context.CancelFunc
	visitors sync.WaitGroup
	answered atomic.Int64
	cutOff   atomic.Int64 // without a response
	refused  atomic.Int64 // with a response other than a redirect
}

func (i *installation) visit(links int) *crowd {
	ctx, stop := context.WithCancel(i.t.Context())
	c := &crowd{stop: stop}
	for worker := range 8 {
		c.visitors.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				redirected, err := visit(
					context.WithoutCancel(ctx), i.base, fmt.Sprintf("link%d", n%links), fmt.Sprintf("visitor %d", worker),
				)
				switch {
				case err != nil:
					c.cutOff.Add(1)
					<-time.After(5 * time.Millisecond) // no service responds: do not spin
				case redirected:
					c.answered.Add(1)
				default:
					c.refused.Add(1)
				}
			}
		})
	}
	return c
}

// awaitRedirects waits until 200 more visitors have been redirected.
func (i *installation) awaitRedirects(c *crowd) {
	i.t.Helper()
	want := c.answered.Load() + 200
	i.eventually("visitors are redirected", func() bool { return c.answered.Load() >= want })
}

// clicks returns the sum of the clicks in the read models, or -1 if the call fails.
func (i *installation) clicks() int64 {
	answer, err := call(i.t.Context(), i.base, i.key, "GET", "/urls?limit=50", "")
	if err != nil {
		return -1
	}
	total := 0.0
	for _, link := range answer["urls"].([]any) {
		total += link.(map[string]any)["total_clicks"].(float64)
	}
	return int64(total)
}

// TestOutages kills the event store under load, then stops PostgreSQL, then kills the service while
// the event store is away. Visitors must be redirected as long as there is a service, and every
// confirmed click must be counted exactly once.
func TestOutages(t *testing.T) {
	t.Parallel()
	const links = 10
	i := install(t)
	i.eventually("the account is known", func() bool { return i.clicks() == 0 })
	for n := range links {
		body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"link%d"}]}`, n, n)
		if _, err := call(t.Context(), i.base, i.key, "POST", "/urls", body); err != nil {
			t.Fatal(err)
		}
	}
	var answered, cutOff int64
	outage := func(what string, allAnswered bool, happens func(*crowd)) {
		t.Helper()
		c := i.visit(links)
		i.awaitRedirects(c)
		happens(c)
		i.awaitRedirects(c)
		c.stop()
		c.visitors.Wait()
		t.Logf("%s: %d redirects, %d cut off, %d refused", what, c.answered.Load(), c.cutOff.Load(), c.refused.Load())
		answered, cutOff = answered+c.answered.Load(), cutOff+c.cutOff.Load()
		if c.refused.Load() > 0 {
			t.Errorf("%s: %d visitors were refused", what, c.refused.Load())
		}
		if allAnswered && c.cutOff.Load() > 0 {
			t.Errorf("%s: %d visitors got no response while the service ran", what, c.cutOff.Load())
		}
	}
	for range (*crashRounds + 2) / 3 {
		outage("event store killed", true, func(c *crowd) {
			i.store.kill()
			i.awaitRedirects(c)
			i.startStore()
		})
		outage("PostgreSQL stopped", true, func(c *crowd) {
			i.stopDatabase()
			i.awaitRedirects(c)
			i.startDatabase()
		})
		outage("service killed while the event store is away", false, func(c *crowd) {
			i.store.kill()
			i.awaitRedirects(c)
			i.service.kill()
			i.startStore()
			i.startService()
		})
		i.eventually("every answered click is counted", func() bool { return i.clicks() >= answered })
		if counted := i.clicks(); counted > answered+cutOff {
			t.Errorf("%d clicks are counted, %d were answered and %d cut off", counted, answered, cutOff)
		}
	}
}
