package nodes_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// pair is an installation with two services that project, under load.
type pair struct {
	*installtest.Installation
	nodes []installtest.Node
	db    *readmodel.DB
	e2etest.Ledger
}

func installPair(t *testing.T) *pair {
	t.Helper()
	p := newPair(t, installtest.Install(t))
	p.add()
	return p
}

// newPair returns a pair with the service that already runs.
func newPair(t *testing.T, i *installtest.Installation) *pair {
	t.Helper()
	p := &pair{
		Installation: i,
		Ledger:       e2etest.Ledger{Created: map[string]string{}, Clicked: map[string]int{}, Unknown: map[string]int{}},
	}
	p.nodes = []installtest.Node{
		{Child: p.Service, Base: p.Base, Admin: p.Admin, Spool: "spool", Flags: p.Flags},
	}
	var err error
	if p.db, err = readmodel.Open(t.Context(), p.Database.DSN(), 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// add starts one more service.
func (p *pair) add(flags ...string) {
	p.T.Helper()
	n := len(p.nodes)
	p.nodes = append(p.nodes, installtest.Node{
		Base: "http://" + installtest.FreeAddress(p.T), Admin: "http://" + installtest.FreeAddress(p.T),
		Spool: fmt.Sprint("spool ", n+1), Flags: flags,
	})
	p.start(n)
}

func (p *pair) start(n int) {
	p.T.Helper()
	at := &p.nodes[n]
	at.Child = p.Serve(at.Base, at.Admin, at.Spool, at.Flags...)
}

// keepBusy makes both nodes create links and redirect visitors until stop is called, even while a
// node or backend is away.
func (p *pair) keepBusy() (stop func()) {
	ctx, cancel := context.WithCancel(p.T.Context())
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for ctx.Err() == nil {
				p.Load(ctx, &e2etest.Dev{Base: p.nodes[worker%len(p.nodes)].Base, Key: p.Key}, worker)
				<-time.After(20 * time.Millisecond) // no service responds: do not spin
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); workers.Wait() })
}

// owners returns the owner of each projection, or nil unless every projection has a valid lease.
func (p *pair) owners() map[string]readmodel.Generation {
	var rows []readmodel.Generation
	err := p.db.NewSelect().Model(&rows).Where("serving AND lease_until > clock_timestamp()").Scan(p.T.Context())
	if err != nil || len(rows) < len(projections.Names()) {
		return nil
	}
	owners := make(map[string]readmodel.Generation)
	for _, row := range rows {
		owners[row.Name] = row
	}
	return owners
}

// owned returns the projections that a node owns.
func (p *pair) owned(n int) []string {
	pid := fmt.Sprintf("/%d-", p.nodes[n].Process.Process.Pid)
	owners := p.owners()
	return slices.DeleteFunc(slices.Collect(maps.Keys(owners)), func(name string) bool {
		return !strings.Contains(owners[name].Owner, pid)
	})
}

// owner waits until all projections have owners and returns one of the nodes that own some.
func (p *pair) owner() int {
	p.T.Helper()
	p.Eventually(
		"all projections have an owner",
		func() bool { return len(p.owned(0))+len(p.owned(1)) == len(projections.Names()) },
	)
	if len(p.owned(0)) > 0 {
		return 0
	}
	return 1
}

// takeOver waits until the other node owns all projections and makes progress, and returns how long
// the change of ownership took.
func (p *pair) takeOver(from int) time.Duration {
	p.T.Helper()
	began := time.Now()
	successor := 1 - from
	p.Eventually(
		"the other node owns all projections",
		func() bool { return len(p.owned(successor)) == len(projections.Names()) },
	)
	took := time.Since(began)
	p.awaitProgress()
	return took
}

// awaitProgress waits until the owner of the links, under load, has made progress.
func (p *pair) awaitProgress() {
	p.T.Helper()
	p.owner()
	at := p.owners()[projections.Links].CommitPos
	p.Eventually(
		"the projection of the links makes progress", func() bool { return p.owners()[projections.Links].CommitPos > at },
	)
}

// verify checks all projections against the log while the load continues.
func (p *pair) verify(after string) {
	p.T.Helper()
	out, log, code := e2etest.Command(p.T, append([]string{"projections", "verify", "--all"}, p.Backends()...)...)
	if code != 0 || strings.Count(out, " 0 different\n") != len(projections.Names()) {
		p.T.Fatalf("after %s, verify ended with %d:\n%s%s", after, code, out, log)
	}
}

// compare checks that the tables have each confirmed create and click exactly once.
func (p *pair) compare() {
	p.T.Helper()
	type link struct {
		Hash, LongURL string
		Clicks        int
	}
	var rows []link
	p.Eventually("the answered clicks are counted", func() bool {
		rows = nil
		if err := p.db.NewRaw(`SELECT hash, long_url, coalesce(total_clicks, 0) AS clicks
			FROM linkledger.links LEFT JOIN linkledger.link_stats ON url_id = id`).Scan(
			p.T.Context(), &rows,
		); err != nil {
			return false
		}
		return !slices.ContainsFunc(rows, func(row link) bool { return row.Clicks < p.Clicked[row.Hash] })
	})
	found := make(map[string]bool)
	for _, row := range rows {
		found[row.Hash] = true
		if long, ok := p.Created[row.Hash]; ok && long != row.LongURL {
			p.T.Errorf("%s leads to %s, was created for %s", row.Hash, row.LongURL, long)
		}
		if least, most := p.Clicked[row.Hash], p.Clicked[row.Hash]+p.Unknown[row.Hash]; row.Clicks < least ||
			row.Clicks > most {
			p.T.Errorf("%s has %d clicks, %d were answered and %d cut off", row.Hash, row.Clicks, least, most-least)
		}
	}
	for hash := range p.Created {
		if !found[hash] {
			p.T.Errorf("a confirmed create is lost: %s", hash)
		}
	}
}

func (p *pair) signal(n int, s syscall.Signal) {
	p.T.Helper()
	if err := p.nodes[n].Process.Process.Signal(s); err != nil {
		p.T.Fatal(err)
	}
}

// TestTakeOver kills, suspends, stops and deposes the owners of the projections under load, and
// takes the event store and PostgreSQL away, several times. Each time the projections must make
// progress and verify against the log, and each confirmed create and click must be there exactly
// once.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	p := installPair(t)
	stop := p.keepBusy()
	defer stop()
	p.awaitProgress()
	var slowest time.Duration
	for range *e2etest.CrashRounds {
		victim := p.owner()
		p.nodes[victim].Kill()
		slowest = max(slowest, p.takeOver(victim))
		p.verify("a kill of the owner")
		p.start(victim)
	}
	t.Logf("taken over from a killed owner within %s", slowest)
	for range (*e2etest.CrashRounds + 2) / 3 {
		p.suspend()
		p.depose()

		victim := p.owner()
		p.signal(victim, syscall.SIGTERM)
		t.Logf("taken over from a stopped owner within %s", p.takeOver(victim))
		<-p.nodes[victim].Ended
		p.verify("a stop of the owner")
		p.start(victim)

		p.Store.Kill()
		p.StartStore()
		p.awaitProgress()
		p.verify("a restart of the event store")

		p.StopDatabase()
		p.StartDatabase()
		p.awaitProgress()
		p.verify("a restart of PostgreSQL")
	}
	stop()
	p.compare()
	p.verify("all")
	t.Logf("%d links answered", len(p.Created))
	if len(p.Created) == 0 {
		t.Error("no load was put on the services")
	}
}

// suspend suspends an owner past the end of its lease. When it resumes, another owner has been
// elected, and its writes are refused.
func (p *pair) suspend() {
	p.T.Helper()
	sleeper := p.owner()
	p.signal(sleeper, syscall.SIGSTOP)
	p.takeOver(sleeper)
	elected := p.owners()
	p.signal(sleeper, syscall.SIGCONT)
	p.awaitProgress()
	for name, owner := range p.owners() {
		if owner.Epoch < elected[name].Epoch {
			p.T.Errorf(
				"%s was owned in epoch %d when the sleeper woke up, and now in %d", name, elected[name].Epoch,
				owner.Epoch,
			)
		}
	}
	p.verify("an owner that slept past its lease")
}

// depose raises the epoch under a running owner, on behalf of an owner that does not exist.
func (p *pair) depose() {
	p.T.Helper()
	if _, err := p.db.ExecContext(p.T.Context(), `UPDATE linkledger.generations
		SET owner = 'nobody', epoch = epoch + 1, lease_until = clock_timestamp() + interval '1s'`); err != nil {
		p.T.Fatal(err)
	}
	p.awaitProgress()
	p.verify("an epoch that was raised under the owner")
}
