package outages_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/pgserver"
)

// deniedLength is how long each fault of TestAnsweredIsNeverDenied lasts.
var deniedLength = flag.Duration("denied-length", 2*time.Second, "how long each fault of TestAnsweredIsNeverDenied lasts")

// promises are links that were answered, and what visitors get for them on two nodes.
type promises struct {
	i       *installtest.Installation
	nodes   []string
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	made     []string
	statuses map[int]int
	denied   map[string]int // status of links that were denied, by hash
	slowest  time.Duration
}

// keepPromises makes links with hashes that begin with prefix. It visits each link on both nodes as soon as its
// creation is answered, and older links all the time, until stop is called.
func keepPromises(i *installtest.Installation, prefix string, known []string, nodes ...string) *promises {
	ctx, stop := context.WithCancel(i.T.Context())
	p := &promises{
		i: i, nodes: nodes, stop: stop, made: append([]string{}, known...), statuses: make(map[int]int),
		denied: make(map[string]int),
	}
	for n := range 2 {
		p.running.Go(func() {
			for number := 0; ctx.Err() == nil; number++ {
				p.make(nodes[n%len(nodes)], fmt.Sprintf("%s%d-%d", prefix, n, number))
			}
		})
		p.running.Go(func() {
			for ctx.Err() == nil {
				if hash := p.any(); hash != "" {
					p.visit(nodes[n%len(nodes)], hash)
				}
				<-time.After(5 * time.Millisecond)
			}
		})
	}
	return p
}

func (p *promises) make(base, hash string) {
	body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%s","custom_hash":"%s"}]}`, hash, hash)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.i.T.Context()), 20*time.Second)
	defer cancel()
	if _, err := e2etest.Call(ctx, base, p.i.Key, "POST", "/urls", body); err != nil {
		<-time.After(20 * time.Millisecond)
		return
	}
	p.mu.Lock()
	p.made = append(p.made, hash)
	p.mu.Unlock()
	for _, node := range p.nodes {
		p.visit(node, hash)
	}
}

// any returns one of the links that were answered.
func (p *promises) any() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.made) == 0 {
		return ""
	}
	return p.made[rand.IntN(len(p.made))]
}

func (p *promises) visit(base, hash string) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.i.T.Context()), 20*time.Second)
	defer cancel()
	status, err := e2etest.VisitStatus(ctx, base, hash, "visitor")
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		status = 0
	}
	p.statuses[status]++
	p.slowest = max(p.slowest, time.Since(began))
	if status == http.StatusNotFound || status == http.StatusGone {
		p.denied[hash] = status
	}
}

// end stops the load and checks that no visitor was denied or refused. It returns the links.
func (p *promises) end(fault string) []string {
	p.i.T.Helper()
	p.stop()
	p.running.Wait()
	p.i.T.Logf("%s: %d links, visits by status %v, the slowest in %s", fault, len(p.made), p.statuses,
		p.slowest.Round(time.Millisecond))
	if len(p.denied) > 0 {
		p.i.T.Errorf("%s: answered links were denied: %v", fault, p.denied)
	}
	if refused := p.statuses[http.StatusServiceUnavailable]; refused > 0 {
		p.i.T.Errorf("%s: %d visitors were refused", fault, refused)
	}
	if p.statuses[http.StatusFound] == 0 {
		p.i.T.Errorf("%s: no visitor was redirected", fault)
	}
	return p.made
}

// lasts waits for the length of a fault.
func lasts() { <-time.After(*deniedLength) }

// TestAnsweredIsNeverDenied makes links at two nodes, and visits them at once, while the projection of links is paused,
// PostgreSQL has no space, PostgreSQL is away, and after the log was restored from an older backup beneath the services.
func TestAnsweredIsNeverDenied(t *testing.T) {
	t.Parallel()
	i := &installtest.Installation{
		T: t, Folder: t.TempDir(), Program: e2etest.Program, StoreAddress: installtest.FreeAddress(t),
		Base: "http://" + installtest.FreeAddress(t), Admin: "http://" + installtest.FreeAddress(t),
	}
	data := filepath.Join(i.Folder, "postgres")
	small := smallDisk(t, data, 200+int(deniedLength.Minutes())*200) // the load itself must not fill it
	i.StartStore()
	if small {
		e2etest.CopyCluster(t, data)
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.StartTimeout)
		defer cancel()
		var err error
		if i.Database, err = pgserver.Start(ctx, pgserver.Config{
			Dir: data, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true, Restart: true,
		}); err != nil {
			t.Fatal(err)
		}
	} else {
		i.StartDatabase()
	}
	t.Cleanup(func() { i.StopDatabase() })
	i.StartService()
	i.OpenAccount()
	second, admin := "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t)
	i.Serve(second, admin, "second-spool")
	for _, node := range []string{i.Admin, admin} {
		e2etest.AwaitReady(t, node, http.StatusOK, `"projection links":"ok"`)
	}
	nodes := []string{i.Base, second}

	p := keepPromises(i, "p", nil, nodes...)
	i.OperatorRuns("projections", "pause", "links")
	lasts()
	e2etest.AwaitReady(t, i.Admin, http.StatusServiceUnavailable, `"projection links":"paused`)
	i.OperatorRuns("projections", "resume", "links")
	made := p.end("links paused")

	if small {
		p = keepPromises(i, "f", made, nodes...)
		filler := filepath.Join(data, "filler")
		fill(t, filler)
		lasts()
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		made = p.end("PostgreSQL without space")
	}

	p = keepPromises(i, "a", made, nodes...)
	i.StopDatabase()
	lasts()
	i.StartDatabase()
	made = p.end("PostgreSQL away")
	for _, node := range []string{i.Admin, admin} {
		e2etest.AwaitReady(t, node, http.StatusOK, `"projection links":"ok"`)
	}

	restoreOlder(i, made, nodes, []string{i.Admin, admin})
}

// restoreOlder puts a backup in the place of the log while the nodes run, after more links were made.
func restoreOlder(i *installtest.Installation, made, nodes, admins []string) {
	i.T.Helper()
	folder, backup := filepath.Join(i.Folder, "events"), filepath.Join(i.Folder, "backup")
	if out, log, code := e2etest.Command(i.T, "eventstore", "backup", folder, backup); code != 0 {
		i.T.Fatalf("backup: %s%s", out, log)
	}
	p := keepPromises(i, "l", nil, nodes...)
	lasts()
	lost := p.end("before the restore")
	for _, hash := range lost { // so that they are in memory and in the read models
		p.visit(nodes[0], hash)
	}
	i.Store.Kill()
	if err := os.Rename(folder, folder+".lost"); err != nil {
		i.T.Fatal(err)
	}
	if err := os.Rename(backup, folder); err != nil {
		i.T.Fatal(err)
	}
	i.StartStore()
	e2etest.AwaitReady(i.T, admins[0], http.StatusServiceUnavailable, `"log":"lacks events of the read models of`)
	for _, node := range nodes {
		i.Eventually("a link that the log lost is refused", func() bool {
			status, err := e2etest.VisitStatus(i.T.Context(), node, lost[len(lost)-1], "visitor")
			return err == nil && status == http.StatusNotFound
		})
	}
	p = keepPromises(i, "n", made, nodes...)
	for _, admin := range admins {
		e2etest.AwaitReady(i.T, admin, http.StatusOK, `"projection links":"ok"`)
	}
	lasts()
	p.end("log older than the read models")
	i.OperatorRuns("projections", "verify", "--all")
}
