package e2e

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

	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// node is one of several services of an installation.
type node struct {
	*child
	base, admin, spool string
	flags              []string
}

// pair is an installation with two services that project, under load.
type pair struct {
	*installation
	nodes []node
	db    *readmodel.DB
	ledger
}

func installPair(t *testing.T) *pair {
	t.Helper()
	p := newPair(t, install(t))
	p.add()
	return p
}

// newPair returns a pair with the service that already runs.
func newPair(t *testing.T, i *installation) *pair {
	t.Helper()
	p := &pair{
		installation: i,
		ledger:       ledger{created: map[string]string{}, clicked: map[string]int{}, unknown: map[string]int{}},
	}
	p.nodes = []node{{p.service, p.base, p.admin, "spool", p.flags}}
	var err error
	if p.db, err = readmodel.Open(t.Context(), p.database.DSN(), 2); err != nil {
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
	p.t.Helper()
	n := len(p.nodes)
	p.nodes = append(
		p.nodes,
		node{nil, "http://" + freeAddress(p.t), "http://" + freeAddress(p.t), fmt.Sprint("spool ", n+1), flags},
	)
	p.start(n)
}

func (p *pair) start(n int) {
	p.t.Helper()
	at := &p.nodes[n]
	at.child = p.serve(at.base, at.admin, at.spool, at.flags...)
}

// keepBusy makes both nodes create links and redirect visitors until stop is called, even while a
// node or backend is away.
func (p *pair) keepBusy() (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for ctx.Err() == nil {
				p.load(ctx, &dev{base: p.nodes[worker%len(p.nodes)].base, key: p.key}, worker)
				<-time.After(20 * time.Millisecond) // no service responds: do not spin
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); workers.Wait() })
}

// owners returns the owner of each projection, or nil unless every projection has a valid lease.
func (p *pair) owners() map[string]readmodel.Generation {
	var rows []readmodel.Generation
	err := p.db.NewSelect().Model(&rows).Where("serving AND lease_until > clock_timestamp()").Scan(p.t.Context())
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
	pid := fmt.Sprintf("/%d-", p.nodes[n].process.Process.Pid)
	owners := p.owners()
	return slices.DeleteFunc(slices.Collect(maps.Keys(owners)), func(name string) bool {
		return !strings.Contains(owners[name].Owner, pid)
	})
}

// owner waits until all projections have owners and returns one of the nodes that own some.
func (p *pair) owner() int {
	p.t.Helper()
	p.eventually(
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
	p.t.Helper()
	began := time.Now()
	successor := 1 - from
	p.eventually(
		"the other node owns all projections",
		func() bool { return len(p.owned(successor)) == len(projections.Names()) },
	)
	took := time.Since(began)
	p.awaitProgress()
	return took
}

// awaitProgress waits until the owner of the links, under load, has made progress.
func (p *pair) awaitProgress() {
	p.t.Helper()
	p.owner()
	at := p.owners()[projections.Links].CommitPos
	p.eventually(
		"the projection of the links makes progress", func() bool { return p.owners()[projections.Links].CommitPos > at },
	)
}

// verify checks all projections against the log while the load continues.
func (p *pair) verify(after string) {
	p.t.Helper()
	out, log, code := command(p.t, append([]string{"projections", "verify", "--all"}, p.backends()...)...)
	if code != 0 || strings.Count(out, " 0 different\n") != len(projections.Names()) {
		p.t.Fatalf("after %s, verify ended with %d:\n%s%s", after, code, out, log)
	}
}

// compare checks that the tables have each confirmed create and click exactly once.
func (p *pair) compare() {
	p.t.Helper()
	type link struct {
		Hash, LongURL string
		Clicks        int
	}
	var rows []link
	p.eventually("the answered clicks are counted", func() bool {
		rows = nil
		if err := p.db.NewRaw(`SELECT hash, long_url, coalesce(total_clicks, 0) AS clicks
			FROM linkledger.links LEFT JOIN linkledger.link_stats ON url_id = id`).Scan(
			p.t.Context(), &rows,
		); err != nil {
			return false
		}
		return !slices.ContainsFunc(rows, func(row link) bool { return row.Clicks < p.clicked[row.Hash] })
	})
	found := make(map[string]bool)
	for _, row := range rows {
		found[row.Hash] = true
		if long, ok := p.created[row.Hash]; ok && long != row.LongURL {
			p.t.Errorf("%s leads to %s, was created for %s", row.Hash, row.LongURL, long)
		}
		if least, most := p.clicked[row.Hash], p.clicked[row.Hash]+p.unknown[row.Hash]; row.Clicks < least ||
			row.Clicks > most {
			p.t.Errorf("%s has %d clicks, %d were answered and %d cut off", row.Hash, row.Clicks, least, most-least)
		}
	}
	for hash := range p.created {
		if !found[hash] {
			p.t.Errorf("a confirmed create is lost: %s", hash)
		}
	}
}

func (p *pair) signal(n int, s syscall.Signal) {
	p.t.Helper()
	if err := p.nodes[n].process.Process.Signal(s); err != nil {
		p.t.Fatal(err)
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
	for range *crashRounds {
		victim := p.owner()
		p.nodes[victim].kill()
		slowest = max(slowest, p.takeOver(victim))
		p.verify("a kill of the owner")
		p.start(victim)
	}
	t.Logf("taken over from a killed owner within %s", slowest)
	for range (*crashRounds + 2) / 3 {
		p.suspend()
		p.depose()

		victim := p.owner()
		p.signal(victim, syscall.SIGTERM)
		t.Logf("taken over from a stopped owner within %s", p.takeOver(victim))
		<-p.nodes[victim].ended
		p.verify("a stop of the owner")
		p.start(victim)

		p.store.kill()
		p.startStore()
		p.awaitProgress()
		p.verify("a restart of the event store")

		p.stopDatabase()
		p.startDatabase()
		p.awaitProgress()
		p.verify("a restart of PostgreSQL")
	}
	stop()
	p.compare()
	p.verify("all")
	t.Logf("%d links answered", len(p.created))
	if len(p.created) == 0 {
		t.Error("no load was put on the services")
	}
}

// suspend suspends an owner past the end of its lease. When it resumes, another owner has been
// elected, and its writes are refused.
func (p *pair) suspend() {
	p.t.Helper()
	sleeper := p.owner()
	p.signal(sleeper, syscall.SIGSTOP)
	p.takeOver(sleeper)
	elected := p.owners()
	p.signal(sleeper, syscall.SIGCONT)
	p.awaitProgress()
	for name, owner := range p.owners() {
		if owner.Epoch < elected[name].Epoch {
			p.t.Errorf(
				"%s was owned in epoch %d when the sleeper woke up, and now in %d", name, elected[name].Epoch,
				owner.Epoch,
			)
		}
	}
	p.verify("an owner that slept past its lease")
}

// depose raises the epoch under a running owner, on behalf of an owner that does not exist.
func (p *pair) depose() {
	p.t.Helper()
	if _, err := p.db.ExecContext(p.t.Context(), `UPDATE linkledger.generations
		SET owner = 'nobody', epoch = epoch + 1, lease_until = clock_timestamp() + interval '1s'`); err != nil {
		p.t.Fatal(err)
	}
	p.awaitProgress()
	p.verify("an epoch that was raised under the owner")
}
