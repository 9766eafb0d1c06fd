// Package installtest gives tests an installation: the service, its event store and its database,
// each as a process of its own.
package installtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

	"linkledger/e2e/e2etest"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver"
)

// Installation is the service, its event store and its database. Each is a process of its own that
// a test can kill.
type Installation struct {
	T        *testing.T
	Folder   string
	Program  string // of the services that are started next
	Store    *Child
	Service  *Child
	Database *pgserver.Server
	Flags    []string // of the service, in addition to the flags that every service needs

	Environment []string // of services, in addition to the environment of the test

	// DSN is how the services and commands reach the database. If empty, they connect directly.
	DSN string

	// Network is between the event store and the services that are started next. If nil, they
	// connect directly.
	Network *eventstoretest.Proxy

	StoreAddress, Base, Admin, Key string
}

// Child is a running process of the program.
type Child struct {
	Process *exec.Cmd
	Ended   chan struct{}
	Output  bytes.Buffer // valid once ended
	memory  atomic.Int64 // peak of the resident memory so far, in kB
}

// StartChild starts a build of the program.
func StartChild(t *testing.T, program string, args ...string) *Child {
	t.Helper()
	return StartChildIn(t, nil, program, args...)
}

// StartChildIn starts a child with additional environment variables.
func StartChildIn(t *testing.T, environment []string, program string, args ...string) *Child {
	t.Helper()
	c := &Child{Process: exec.Command(program, args...), Ended: make(chan struct{})}
	c.Process.Env = append(os.Environ(), environment...)
	c.Process.Stderr = &c.Output
	if err := c.Process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Process.Wait() // the test checks the exit code
		close(c.Ended)
	}()
	go c.watch()
	t.Cleanup(func() {
		c.Kill()
		if said := c.Output.Bytes(); t.Failed() && len(said) > 0 {
			t.Logf("%s last wrote:\n%s", args, said[max(0, len(said)-MostSaid):])
		}
	})
	return c
}

// MostSaid is how much of a process's output a failed test logs, in bytes.
const MostSaid = 2000

// watch reads the peak memory of the process until it ends. The peak that the system reports after
// the end includes the memory of the test: the process was a copy of the test before it started the
// program.
func (c *Child) watch() {
	for {
		// an error means that it has ended
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Process.Pid))
		if _, peak, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kB int64
			if _, err := fmt.Sscan(peak, &kB); err == nil {
				c.memory.Store(kB)
			}
		}
		select {
		case <-c.Ended:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Kill ends the process as a power failure would.
func (c *Child) Kill() {
	_ = c.Process.Process.Kill() // an error means that it has ended
	<-c.Ended
}

// Peak returns the process's peak of resident memory, in MB.
func (c *Child) Peak() int64 { return c.memory.Load() * 1024 / 1e6 }

// FreeAddress returns an address on which a process can listen, and listen again after a restart.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener := eventstoretest.Listen(t)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// Install starts all parts and opens an account.
func Install(t *testing.T, flags ...string) *Installation {
	t.Helper()
	return InstallProgram(t, e2etest.Program, flags...)
}

// InstallProgram is Install with another build of the service.
func InstallProgram(t *testing.T, service string, flags ...string) *Installation {
	t.Helper()
	i := &Installation{
		T: t, Folder: t.TempDir(), Program: service, Flags: flags, StoreAddress: FreeAddress(t),
		Base: "http://" + FreeAddress(t), Admin: "http://" + FreeAddress(t),
	}
	i.StartStore()
	i.StartDatabase()
	t.Cleanup(i.StopDatabase)
	i.StartService()
	i.OpenAccount()
	return i
}

// OpenAccount opens the account that the calls of tests use.
func (i *Installation) OpenAccount() {
	i.T.Helper()
	i.OpenAccountBy(i.Backends()...)
}

// OpenAccountBy opens the account of the tests by a command with the given backends.
func (i *Installation) OpenAccountBy(backends ...string) {
	i.T.Helper()
	out, err := exec.Command(
		e2etest.Program, append([]string{"account", "create", "--username", e2etest.DemoUser, "--json"}, backends...)...,
	).Output()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		i.T.Fatalf("%v: %s", err, ended.Stderr)
	}
	var account e2etest.OpenedAccount
	if err == nil {
		err = json.Unmarshal(out, &account)
	}
	if err != nil {
		i.T.Fatal(err)
	}
	i.Key = account.APIKey
}

// StartStore starts the event store. It does not wait until the event store is ready.
func (i *Installation) StartStore() {
	i.T.Helper()
	i.Store = StartChild(
		i.T, e2etest.Program, "eventstore", "--data", filepath.Join(i.Folder, "events"), "--listen", i.StoreAddress,
	)
}

// StartDatabase starts PostgreSQL.
func (i *Installation) StartDatabase() {
	i.T.Helper()
	data := filepath.Join(i.Folder, "postgres")
	if _, err := os.Stat(data); os.IsNotExist(err) {
		e2etest.CopyCluster(i.T, data)
	}
	ctx, cancel := context.WithTimeout(i.T.Context(), e2etest.StartTimeout)
	defer cancel()
	var err error
	i.Database, err = pgserver.Start(ctx, pgserver.Config{
		Dir: data, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true,
	})
	if err != nil {
		i.T.Fatal(err)
	}
}

// StopDatabase stops PostgreSQL at once.
func (i *Installation) StopDatabase() {
	ctx, cancel := context.WithTimeout(context.Background(), e2etest.StartTimeout)
	defer cancel()
	if err := i.Database.Stop(ctx); err != nil {
		i.T.Error(err)
	}
}

// StartService starts the service as Serve does, and sets Service.
func (i *Installation) StartService() {
	i.T.Helper()
	i.Service = i.Serve(i.Base, i.Admin, "spool", i.Flags...)
}

// Serve starts a service with its own addresses and spool, and waits until its health check says
// that it runs. The service may not be ready yet.
func (i *Installation) Serve(base, admin, spool string, flags ...string) *Child {
	i.T.Helper()
	args := []string{
		"serve", "--listen", base[len("http://"):], "--admin-listen", admin[len("http://"):], "--spool",
		filepath.Join(i.Folder, spool),
	}
	service := StartChildIn(i.T, i.Environment, i.Program, slices.Concat(args, i.Backends(), flags)...)
	i.Eventually("the service answers", func() bool {
		response, err := http.Get(admin + "/health/live")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	return service
}

// Backends returns the flags that name the event store and the database.
func (i *Installation) Backends() []string {
	store := i.StoreAddress
	if i.Network != nil {
		store = i.Network.Address()
	}
	return []string{"--eventstore", "esdb://" + store + "?tls=false", "--database", cmp.Or(i.DSN, i.Database.DSN())}
}

// Eventually waits until is returns true.
func (i *Installation) Eventually(what string, is func() bool) {
	i.T.Helper()
	deadline := time.After(e2etest.StartTimeout)
	for pause := 20 * time.Millisecond; !is(); pause = min(2*pause, 500*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline:
			i.T.Fatalf("not in time: %s", what)
		}
	}
}

// Crowd visits links until stop is called.
type Crowd struct {
	Stop     context.CancelFunc
	Visitors sync.WaitGroup
	Answered atomic.Int64
	CutOff   atomic.Int64 // without a response
	Refused  atomic.Int64 // with a response other than a redirect
}

// Visit starts a crowd that visits links of the account.
func (i *Installation) Visit(links int) *Crowd {
	ctx, stop := context.WithCancel(i.T.Context())
	c := &Crowd{Stop: stop}
	for worker := range 8 {
		c.Visitors.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				redirected, err := e2etest.Visit(
					context.WithoutCancel(ctx), i.Base, fmt.Sprintf("link%d", n%links), fmt.Sprintf("visitor %d", worker),
				)
				switch {
				case err != nil:
					c.CutOff.Add(1)
					<-time.After(5 * time.Millisecond) // no service responds: do not spin
				case redirected:
					c.Answered.Add(1)
				default:
					c.Refused.Add(1)
				}
			}
		})
	}
	return c
}

// AwaitRedirects waits until 200 more visits have been redirected.
func (i *Installation) AwaitRedirects(c *Crowd) {
	i.T.Helper()
	want := c.Answered.Load() + 200
	i.Eventually("visitors are redirected", func() bool { return c.Answered.Load() >= want })
}

// Clicks returns the sum of the clicks in the read models, of up to 50 links of the account, or -1
// if the call fails.
func (i *Installation) Clicks() int64 {
	answer, err := e2etest.Call(i.T.Context(), i.Base, i.Key, "GET", "/urls?limit=50", "")
	if err != nil {
		return -1
	}
	total := 0.0
	for _, link := range answer["urls"].([]any) {
		total += link.(map[string]any)["total_clicks"].(float64)
	}
	return int64(total)
}
