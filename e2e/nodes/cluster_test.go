package nodes_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

var clusterRounds = flag.Int(
	"cluster-rounds", 1, "how many installations TestCluster sets up and puts through all faults; make cluster does 10",
)

// fleet is an installation of three services under load. Two services have each role.
type fleet struct {
	*pair
	clients *clients
}

// clusterRoles are the roles of the three services. The first two project.
var clusterRoles = [3]string{"--roles=api,projector", "--roles=redirect,projector", "--roles=api,redirect"}

func startFleet(t *testing.T, older string) *fleet {
	t.Helper()
	f := &fleet{pair: newPair(t, installtest.InstallProgram(t, older, clusterRoles[0]))}
	f.add(clusterRoles[1])
	f.add(clusterRoles[2])
	f.clients = &clients{
		t: t, key: f.Key, api: []string{f.nodes[0].Base, f.nodes[2].Base},
		redirect: []string{f.nodes[1].Base, f.nodes[2].Base},
		Ledger:   e2etest.Ledger{Created: map[string]string{}, Clicked: map[string]int{}, Unknown: map[string]int{}},
		notes:    map[string]string{}, deleted: map[string]bool{},
	}
	return f
}

// TestCluster kills and pauses three services with different roles, the event store and PostgreSQL
// in turn under load, and then deploys a version with other tables node by node. Clients repeat a
// failed call on another node. At the end no write and no click is lost or duplicated, the counters
// equal the sums over the log, and every read model verifies.
func TestCluster(t *testing.T) { //nolint:tparallel // one installation at a time
	t.Parallel()
	older := olderProgram(t)
	for round := range *clusterRounds { //nolint:paralleltest // one installation at a time
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			f := startFleet(t, older)
			stop := f.clients.keepBusy()
			defer stop()
			f.awaitProgress()
			f.faults(round%2 == 1)
			f.roll()
			stop()
			f.compareAll()
		})
	}
}

// faults kills and pauses each node, the event store and PostgreSQL once. A projection waits some
// seconds for the lease of an owner that is away. Therefore a fault kills the owner and the next
// one pauses its successor, or the other way round.
func (f *fleet) faults(pauseFirst bool) {
	f.T.Helper()
	for _, fault := range []struct {
		node  int
		pause bool
	}{{2, pauseFirst}, {0, pauseFirst}, {0, !pauseFirst}, {1, !pauseFirst}, {1, pauseFirst}, {2, !pauseFirst}} {
		if n := fault.node; fault.pause {
			f.away("paused", n, func() { f.signal(n, syscall.SIGSTOP) }, func() { f.signal(n, syscall.SIGCONT) })
		} else {
			f.away("killed", n, f.nodes[n].Kill, func() { f.start(n) })
		}
	}
	store := func(s syscall.Signal) func() {
		return func() { f.send(s, f.Store.Process.Process.Pid) }
	}
	f.gone("event store killed", f.Store.Kill, f.StartStore)
	f.gone("event store paused", store(syscall.SIGSTOP), store(syscall.SIGCONT))
	f.gone("PostgreSQL killed", f.killDatabase, f.StartDatabase)
	f.gone(
		"PostgreSQL paused", func() { f.signalDatabase(syscall.SIGSTOP) },
		func() { f.signalDatabase(syscall.SIGCONT) },
	)
}

// away takes a node away until the clients have noticed and another node owns its projections.
func (f *fleet) away(how string, n int, leave, comeBack func()) {
	f.T.Helper()
	f.owner() // waits until all projections have one
	owned := len(f.owned(n))
	f.gone(fmt.Sprintf("node %d, which owned %d projections, %s", n, owned, how), func() {
		leave()
		if owned > 0 {
			f.takeOver(n)
		}
	}, comeBack)
}

// gone takes a part away until the clients have noticed, and waits until the projections make
// progress again.
func (f *fleet) gone(what string, leave, comeBack func()) {
	f.T.Helper()
	before := f.clients.turnedTo.Load()
	leave()
	f.Eventually("the clients notice: "+what, func() bool { return f.clients.turnedTo.Load() > before })
	comeBack()
	f.awaitProgress()
	f.T.Logf("away and back: %s, %d calls were repeated", what, f.clients.turnedTo.Load()-before)
}

// roll replaces the nodes one by one with a version whose tags have another shape.
func (f *fleet) roll() {
	f.T.Helper()
	f.Program = e2etest.Program
	for n := range f.nodes {
		f.signal(n, syscall.SIGTERM)
		<-f.nodes[n].Ended
		f.start(n)
		f.Eventually("the newer version serves", func() bool {
			_, err := e2etest.Visit(f.T.Context(), f.nodes[n].Base, "any", "deployer")
			return err == nil
		})
	}
	if got := tagGenerations(f.Installation, f.db); got != "1 false\n2 true\n" {
		f.T.Errorf("generations after the newer version was rolled through:\n%s", got)
	}
	f.awaitProgress()
}

// signalDatabase sends a signal to PostgreSQL and its backends, some of which may end meanwhile.
func (f *fleet) signalDatabase(s syscall.Signal) {
	f.T.Helper()
	lock, err := os.ReadFile(filepath.Join(f.Folder, "postgres", "cluster", "postmaster.pid"))
	if err != nil {
		f.T.Fatal(err)
	}
	first, _, _ := strings.Cut(string(lock), "\n")
	parent, err := strconv.Atoi(first)
	if err != nil {
		f.T.Fatal(err)
	}
	children, err := os.ReadFile(filepath.Join("/proc", first, "task", first, "children"))
	if err != nil {
		f.T.Fatal(err)
	}
	f.send(s, parent)
	for _, text := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			f.T.Fatal(err)
		}
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			f.T.Fatal(err)
		}
	}
}

func (f *fleet) killDatabase() {
	f.T.Helper()
	f.signalDatabase(syscall.SIGKILL)
	<-f.Database.Done()
}

func (f *fleet) send(s syscall.Signal, pid int) {
	f.T.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		f.T.Fatal(err)
	}
}

// compareAll compares the responses that the clients received, the log and the tables.
func (f *fleet) compareAll() {
	f.T.Helper()
	for _, n := range []int{1, 2} {
		f.Eventually("the spools are empty", func() bool {
			_, metrics := e2etest.Scrape(f.T, f.nodes[n].Admin+"/metrics")
			return strings.Contains(metrics, "\nlinkledger_spool_records 0\n")
		})
	}
	f.Ledger = e2etest.Ledger{Created: f.clients.Created, Clicked: f.clients.Clicked, Unknown: f.clients.Unknown}
	f.compare()
	f.compareCounters()
	f.clients.compareWrites(f.db)
	f.verify("all")
	redirects := 0
	for _, n := range f.Clicked {
		redirects += n
	}
	f.T.Logf("%d links answered, %d edited, %d deleted, %d redirects; %d calls were repeated",
		len(f.Created), len(f.clients.notes), len(f.clients.deleted), redirects, f.clients.turnedTo.Load())
	if len(f.clients.deleted) == 0 || redirects == 0 {
		f.T.Error("no load was put on the services")
	}
}

// compareCounters checks that the counters equal the sums over the log.
func (f *fleet) compareCounters() {
	f.T.Helper()
	log := e2etest.OpenStore(f.T, "esdb://"+f.StoreAddress+"?tls=false")
	defer log.Close()
	head, err := log.Head(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually("the tables have all of the log", func() bool {
		overviews, err := status.Overviews(f.T.Context(), projections.All(), f.db, log)
		return err == nil && !slices.ContainsFunc(
			overviews, func(o status.Overview) bool { return o.Serving && o.LagEvents > 0 },
		)
	})
	urls, clicks := 0, make(map[string]int)
	if err := log.ReadLog(f.T.Context(), eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		for _, recorded := range batch {
			event, err := recorded.Event()
			if err != nil {
				return err
			}
			switch event := event.(type) {
			case events.URLCreated:
				urls++
			case events.URLDeleted:
				urls--
			case events.ClicksRecorded:
				for _, click := range event.Clicks {
					clicks[click.URLID]++
				}
			}
		}
		return nil
	}); err != nil {
		f.T.Fatal(err)
	}
	for _, node := range f.clients.api {
		answer, err := e2etest.Call(f.T.Context(), node, f.Key, "GET", "/account", "")
		if err != nil {
			f.T.Fatal(err)
		}
		if got := answer["account"].(map[string]any)["counters"].(map[string]any)["urls"].(map[string]any)["count"]; got != float64(urls) {
			f.T.Errorf("the account has %v links, the log adds up to %d", got, urls)
		}
	}
	var counted []readmodel.LinkStats
	if err := f.db.NewSelect().Model(&counted).Scan(f.T.Context()); err != nil {
		f.T.Fatal(err)
	}
	for _, link := range counted {
		if id := link.URLID.String(); link.TotalClicks != int64(clicks[id]) {
			f.T.Errorf("link %s has %d clicks, the log adds up to %d", id, link.TotalClicks, clicks[id])
		}
		delete(clicks, link.URLID.String())
	}
	if len(clicks) > 0 {
		f.T.Errorf("%d links have clicks in the log, but not in the tables", len(clicks))
	}
}
