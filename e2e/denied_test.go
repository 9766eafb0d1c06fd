package e2e

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

	"linkledger/internal/pgserver"
)

// deniedLength is how long each fault of TestAnsweredIsNeverDenied lasts.
var deniedLength = flag.Duration("denied-length", 2*time.Second, "how long each fault of TestAnsweredIsNeverDenied lasts")

// promises are links that were answered, and what visitors get for them on two nodes.
type promises struct {
	i       *installation
	nodes   []string
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	made     []string
	statuses map[int]int
	denied   map[string]int // status of links that were denied, by hash
	slowest  time.Duration
}

// keepPromises makes links, visits each as soon as it is answered on both nodes, and older ones all the time, until
// stop is called. prefix is that of the hashes.
func keepPromises(i *installation, prefix string, known []string, nodes ...string) *promises {
	ctx, stop := context.WithCancel(i.t.Context())
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.i.t.Context()), 20*time.Second)
	defer cancel()
	if _, err := call(ctx, base, p.i.key, "POST", "/urls", body); err != nil {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.i.t.Context()), 20*time.Second)
	defer cancel()
	status, err := visitStatus(ctx, base, hash, "visitor")
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
	p.i.t.Helper()
	p.stop()
	p.running.Wait()
	p.i.t.Logf("%s: %d links, visits by status %v, the slowest in %s", fault, len(p.made), p.statuses,
		p.slowest.Round(time.Millisecond))
	if len(p.denied) > 0 {
		p.i.t.Errorf("%s: answered links were denied: %v", fault, p.denied)
	}
	if refused := p.statuses[http.StatusServiceUnavailable]; refused > 0 {
		p.i.t.Errorf("%s: %d visitors were refused", fault, refused)
	}
	if p.statuses[http.StatusFound] == 0 {
		p.i.t.Errorf("%s: no visitor was redirected", fault)
	}
	return p.made
}

// lasts waits for the length of a fault.
func lasts() { <-time.After(*deniedLength) }

// TestAnsweredIsNeverDenied makes links at two nodes, and visits them at once, while the projection of links is paused,
// PostgreSQL has no space, PostgreSQL is away, and after the log was restored from an older backup beneath the services.
func TestAnsweredIsNeverDenied(t *testing.T) {
	t.Parallel()
	i := &installation{
		t: t, folder: t.TempDir(), program: program, storeAddress: freeAddress(t),
		base: "http://" + freeAddress(t), admin: "http://" + freeAddress(t),
	}
	data := filepath.Join(i.folder, "postgres")
	small := smallDisk(t, data, 200+int(deniedLength.Minutes())*200) // the load itself must not fill it
	i.startStore()
	if small {
		copyCluster(t, data)
		ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
		defer cancel()
		var err error
		if i.database, err = pgserver.Start(ctx, pgserver.Config{
			Dir: data, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true, Restart: true,
		}); err != nil {
			t.Fatal(err)
		}
	} else {
		i.startDatabase()
	}
	t.Cleanup(func() { i.stopDatabase() })
	i.startService()
	i.openAccount()
	second, admin := "http://"+freeAddress(t), "http://"+freeAddress(t)
	i.serve(second, admin, "second-spool")
	for _, node := range []string{i.admin, admin} {
		awaitReady(t, node, http.StatusOK, `"projection links":"ok"`)
	}
	nodes := []string{i.base, second}

	p := keepPromises(i, "p", nil, nodes...)
	i.operatorRuns("projections", "pause", "links")
	lasts()
	awaitReady(t, i.admin, http.StatusServiceUnavailable, `"projection links":"paused`)
	i.operatorRuns("projections", "resume", "links")
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
	i.stopDatabase()
	lasts()
	i.startDatabase()
	made = p.end("PostgreSQL away")
	for _, node := range []string{i.admin, admin} {
		awaitReady(t, node, http.StatusOK, `"projection links":"ok"`)
	}

	restoreOlder(i, made, nodes, []string{i.admin, admin})
}

// operatorRuns runs a command of operators.
func (i *installation) operatorRuns(args ...string) {
	i.t.Helper()
	if out, log, code := command(i.t, append(args, i.backends()...)...); code != 0 {
		i.t.Fatalf("%v ended with %d: %s%s", args, code, out, log)
	}
}

// restoreOlder puts a backup in the place of the log while the nodes run, after more links were made.
func restoreOlder(i *installation, made, nodes, admins []string) {
	i.t.Helper()
	folder, backup := filepath.Join(i.folder, "events"), filepath.Join(i.folder, "backup")
	if out, log, code := command(i.t, "eventstore", "backup", folder, backup); code != 0 {
		i.t.Fatalf("backup: %s%s", out, log)
	}
	p := keepPromises(i, "l", nil, nodes...)
	lasts()
	lost := p.end("before the restore")
	for _, hash := range lost { // so that they are in memory and in the read models
		p.visit(nodes[0], hash)
	}
	i.store.kill()
	if err := os.Rename(folder, folder+".lost"); err != nil {
		i.t.Fatal(err)
	}
	if err := os.Rename(backup, folder); err != nil {
		i.t.Fatal(err)
	}
	i.startStore()
	awaitReady(i.t, admins[0], http.StatusServiceUnavailable, `"log":"lacks events of the read models of`)
	for _, node := range nodes {
		i.eventually("a link that the log lost is refused", func() bool {
			status, err := visitStatus(i.t.Context(), node, lost[len(lost)-1], "visitor")
			return err == nil && status == http.StatusNotFound
		})
	}
	p = keepPromises(i, "n", made, nodes...)
	for _, admin := range admins {
		awaitReady(i.t, admin, http.StatusOK, `"projection links":"ok"`)
	}
	lasts()
	p.end("log older than the read models")
	i.operatorRuns("projections", "verify", "--all")
}
