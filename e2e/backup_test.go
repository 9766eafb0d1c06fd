package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/internal/backups"
	"linkledger/internal/soak"
	"linkledger/projections"
)

// restoredAs is what linkledger restore prints.
type restoredAs = backups.Restored

// traffic is a load on a service that goes on until it is stopped.
type traffic struct {
	ledger

	stop    context.CancelFunc
	ended   sync.WaitGroup
	workers int // that there have been
}

// startTraffic creates and visits links.
func startTraffic(t *testing.T, d *dev) *traffic {
	t.Helper()
	l := &traffic{
		ledger: ledger{created: map[string]string{}, clicked: map[string]int{}, unknown: map[string]int{}},
	}
	l.goOn(t, d)
	t.Cleanup(l.end)
	return l
}

// goOn puts the load on a service again after end.
func (l *traffic) goOn(t *testing.T, d *dev) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	for range 4 {
		worker := l.workers
		l.workers++
		l.ended.Go(func() { l.load(ctx, d, worker) })
	}
}

func (l *traffic) end() {
	l.stop()
	l.ended.Wait()
}

// answered returns what was answered so far.
func (l *traffic) answered() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &ledger{created: maps.Clone(l.created), clicked: maps.Clone(l.clicked), unknown: maps.Clone(l.unknown)}
}

// await waits until so many links were answered.
func (l *traffic) await(t *testing.T, links int) {
	t.Helper()
	late := time.After(startTimeout)
	for len(l.answered().created) < links {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			t.Fatal("there is no load")
		}
	}
}

// checkBetween checks that a restored service has what was answered before its backup, and nothing
// that was not answered before the backup ended.
func checkBetween(t *testing.T, d *dev, before, after *ledger, others ...string) {
	t.Helper()
	total := 0
	for offset := 0; ; {
		answer := d.call("GET", fmt.Sprintf("/urls?limit=100&offset=%d&order_by=created", offset), "")
		urls := answer["urls"].([]any)
		for _, item := range urls {
			url := item.(map[string]any)
			hash := url["hash"].(string)
			if slices.Contains(others, hash) {
				continue
			}
			long, answered := after.created[hash]
			if !answered && !inFlight(after, url["long_url"].(string)) {
				t.Errorf("%s was not answered", hash)
			} else if answered && url["long_url"] != long {
				t.Errorf("%s leads to %v, was created for %s", hash, url["long_url"], long)
			}
			clicks := int(url["total_clicks"].(float64))
			if clicks < before.clicked[hash] || clicks > after.clicked[hash]+after.unknown[hash]+1 {
				t.Errorf("%s has %d clicks, answered were %d before and %d after", hash, clicks, before.clicked[hash],
					after.clicked[hash])
			}
			delete(before.created, hash)
			total++
		}
		if len(urls) < 100 {
			break
		}
		offset += len(urls)
	}
	if len(before.created) > 0 {
		t.Errorf("of the links that were answered before the backup, %d are missing", len(before.created))
	}
	if total == 0 {
		t.Error("no link is there")
	}
}

// inFlight reports whether a call that made a link may not have been answered yet: each worker of
// the load waits for one call, the last of its own.
func inFlight(after *ledger, long string) bool {
	var worker, n int
	if _, err := fmt.Sscanf(long, "https://example.com/%d/%d", &worker, &n); err != nil {
		return false
	}
	for _, other := range after.created {
		var otherWorker, m int
		if _, err := fmt.Sscanf(other, "https://example.com/%d/%d", &otherWorker, &m); err == nil &&
			otherWorker == worker && m >= n {
			return false
		}
	}
	return true
}

// mustRun runs a command and returns what it prints.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, log, code := command(t, args...)
	if code != 0 {
		t.Fatalf("%s ended with %d: %s%s", args, code, out, log)
	}
	return out
}

// drillOf returns the commands of a drill of the documents, block by block.
func drillOf(t *testing.T, heading, parent string) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/backup-and-upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n### "+heading+"\n")
	section, _, ended := strings.Cut(section, "\n### ")
	if !found || !ended {
		t.Fatalf("there is no section %q", heading)
	}
	var blocks []string
	exported := []string{"cd " + parent + "\n"} // a user runs all blocks in one shell
	for _, block := range readmeBlock.FindAllStringSubmatch(section, -1) {
		lines := strings.NewReplacer(
			"./linkledger ", program+" ", "/safe/", parent+"/safe/", "/backup/", parent+"/backup/",
		).Replace(block[1])
		blocks = append(blocks, strings.Join(exported, "")+lines)
		for line := range strings.Lines(lines) {
			if strings.HasPrefix(line, "export ") {
				exported = append(exported, line)
			}
		}
	}
	if len(blocks) != 4 {
		t.Fatalf("want the blocks back up, lose, restore and prove, got %d", len(blocks))
	}
	for _, folder := range []string{"safe", "backup"} {
		if err := os.Mkdir(filepath.Join(parent, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return blocks
}

// underLoad runs a backup while a service is used, and returns what was answered before it began and
// before it ended.
func underLoad(t *testing.T, d *dev, backUp func()) (before, after *ledger) {
	t.Helper()
	load := startTraffic(t, d)
	load.await(t, 20)
	before = load.answered()
	backUp()
	after = load.answered()
	load.await(t, len(after.created)+10)
	load.end()
	return before, after
}

const notedLink = `{"urls":[{"long_url":"https://example.com/","custom_hash":"noted","note":"a secret"}]}`

// wantProof checks what the last block of a drill prints.
func wantProof(t *testing.T, out string) {
	t.Helper()
	if strings.Count(out, ", 0 different\n") != len(projections.Names()) ||
		!strings.Contains(out, "signed heads that fit: 1") {
		t.Errorf("the proof:\n%s", out)
	}
}

func wantNoted(t *testing.T, d *dev) {
	t.Helper()
	noted := d.call("GET", "/urls/noted", "")["urls"].([]any)[0].(map[string]any)
	if noted["note"] != "a secret" {
		t.Errorf("the note is %v", noted["note"])
	}
}

// TestDrillOfDev runs the drill of the documents for dev, under load.
func TestDrillOfDev(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	blocks := drillOf(t, "Drill of `dev`", parent)
	d := startDev(t, filepath.Join(parent, "data"))
	d.call("POST", "/urls", notedLink)
	before, after := underLoad(t, d, func() { shell(t, blocks[0]) })
	d.kill()
	late := time.Now().Add(startTimeout) // PostgreSQL of a killed process ends by itself
	for shell(t, blocks[1]); time.Now().Before(late); {
		if _, err := os.Stat(filepath.Join(parent, "lost", "postgres", "cluster", "postmaster.pid")); err != nil {
			break
		}
	}
	if out := shell(t, blocks[2]); !strings.Contains(out, "links created") {
		t.Errorf("restore: %s", out)
	}
	again := startDev(t, filepath.Join(parent, "data"))
	again.key = d.key
	wantProof(t, shell(t, blocks[3]))
	checkBetween(t, again, before, after, "noted")
	wantNoted(t, again)
	again.interrupt()
}

// TestDrillOfServe runs the drill of the documents for serve on the embedded event store, under load.
func TestDrillOfServe(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	blocks := drillOf(t, "Drill of `serve`", parent)
	master := strings.Repeat("A", 43) + "="
	if err := os.WriteFile(filepath.Join(parent, "safe", "master.key"), []byte(master), 0o600); err != nil {
		t.Fatal(err)
	}
	i := install(t, "--base-url=https://sho.rt", "--master-key="+master)
	if err := os.Symlink(i.folder, filepath.Join(parent, "data")); err != nil {
		t.Fatal(err)
	}
	i.eventually("the account is known", func() bool {
		_, err := call(t.Context(), i.base, i.key, "GET", "/account", "")
		return err == nil
	})
	restored := strings.Replace(i.database.DSN(), "/linkledger?", "/restored?", 1)
	variables := fmt.Sprintf("export EVENTSTORE='esdb://%s?tls=false' DATABASE='%s' RESTORED='%s'\n",
		i.storeAddress, i.database.DSN(), restored)
	d := &dev{t: t, base: i.base, key: i.key}
	d.call("POST", "/urls", notedLink)
	before, after := underLoad(t, d, func() { shell(t, variables+blocks[0]) })
	i.service.kill()
	i.store.kill()
	shell(t, blocks[1])
	i.exec(i.connectTo(i.database.DSN()), "CREATE DATABASE restored")
	if out := shell(t, variables+blocks[2]); !strings.Contains(out, "links created") {
		t.Errorf("restore: %s", out)
	}
	if out, log, code := commandIn(t, []string{"LINKLEDGER_MASTER_KEY=" + master}, "restore",
		filepath.Join(parent, "backup", "linkledger"), "--events", filepath.Join(parent, "again"),
		"--database", restored,
	); code != exitUsage || !strings.Contains(log, "the database is not empty") {
		t.Errorf("restored twice: %d: %s%s", code, out, log)
	}
	i.dsn = restored
	i.startStore()
	i.service = i.serve(i.base, i.admin, "new spool", i.flags...)
	awaitCaughtUp(i, i.backends())
	wantProof(t, shell(t, variables+blocks[3]))
	checkBetween(t, d, before, after, "noted")
	wantNoted(t, d)
}

// TestRestores backs up a dev at random moments of a load, and restores it to an empty place each
// time.
func TestRestores(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder, kept := filepath.Join(parent, "data"), filepath.Join(parent, "backups")
	d := startDev(t, folder, "--backup", filepath.Join(parent, "scheduled"), "--backup-keep=2")
	d.call("POST", "/urls", notedLink)
	load := startTraffic(t, d)
	master := "LINKLEDGER_MASTER_KEY_FILE=" + filepath.Join(folder, "master.key")
	for round := range soak.N(1, 30) {
		load.await(t, len(load.answered().created)+1+rand.IntN(40))
		before := load.answered()
		var made backups.Manifest
		if err := json.Unmarshal([]byte(mustRun(t, "backup", kept, "--data", folder, "--json")), &made); err != nil {
			t.Fatal(err)
		}
		after, least := load.answered(), len(before.created)
		load.await(t, len(after.created)+rand.IntN(40))
		load.end()
		restored := filepath.Join(parent, fmt.Sprint("restored-", round))
		text, log, code := commandIn(t, []string{master}, "restore", kept, "--data", restored, "--json")
		var brought restoredAs
		if err := json.Unmarshal([]byte(text), &brought); err != nil || code != 0 {
			t.Fatalf("restore ended with %d: %s%s", code, text, log)
		}
		if int(brought.Links) < least || brought.Accounts != 1 || brought.Keys == 0 ||
			brought.Events != made.Events {
			t.Errorf("it brought %+v of %+v", brought, made)
		}
		wantSameFile(t, filepath.Join(folder, "signing.key"), filepath.Join(restored, "signing.key"))
		again := startDev(t, restored)
		again.key = d.key
		checkBetween(t, again, before, after, "noted")
		wantNoted(t, again)
		again.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","note":"goes on"}]}`)
		again.interrupt()
		removeAll(t, restored)
		load.goOn(t, d)
		t.Logf("round %d: %d links before the backup, %d after it, %d events in %s", round, least,
			len(after.created), made.Events, made.Duration)
	}
	killBackups(t, kept, folder)
	load.end()
	if out, log, code := command(t, "restore", kept, "--data", filepath.Join(parent, "other")); code != exitUsage ||
		!strings.Contains(log, "--master-key") {
		t.Errorf("without the master key: %d: %s%s", code, out, log)
	}
	if out, log, code := commandIn(t, []string{master}, "restore", kept, "--data", folder); code != exitUsage ||
		!strings.Contains(log, "is not empty") {
		t.Errorf("over a running dev: %d: %s%s", code, out, log)
	}
	wantScheduled(t, d, filepath.Join(parent, "scheduled"))
	d.interrupt()
}

// killBackups kills backups at random moments. The newest one stays whole, and the next succeeds.
func killBackups(t *testing.T, kept, folder string) {
	t.Helper()
	for range soak.N(4, 40) {
		process := startChild(t, program, "backup", kept, "--data", folder)
		select {
		case <-process.ended:
		case <-time.After(time.Duration(rand.IntN(300)) * time.Millisecond):
			process.kill()
		}
		set, _, err := backups.Newest(kept)
		if err != nil {
			t.Fatal(err)
		}
		if out, log, code := command(t, "eventstore", "check", filepath.Join(set, "events")); code != 0 {
			t.Fatalf("the newest backup is damaged after a kill: %s%s", out, log)
		}
	}
	mustRun(t, "backup", kept, "--data", folder)
	entries, err := os.ReadDir(kept)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".partial") {
			t.Errorf("%s is left", e.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// wantScheduled waits for the backup that a service makes by itself, and checks what it says of it.
func wantScheduled(t *testing.T, d *dev, folder string) {
	t.Helper()
	late := time.After(startTimeout)
	for {
		_, state := scrape(t, d.admin+"/health/ready")
		_, metrics := scrape(t, d.admin+"/metrics")
		if strings.Contains(state, `"backup":"ok: the newest is of 20`) &&
			strings.Contains(metrics, "\nlinkledger_backup_age_seconds ") {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			t.Fatalf("no backup was made: %s", state)
		}
	}
	if made, err := os.ReadDir(folder); err != nil || len(made) != 1 {
		t.Errorf("there is %v, %v", made, err)
	}
}

func wantSameFile(t *testing.T, want, got string) {
	t.Helper()
	first, err := os.ReadFile(want)
	second, other := os.ReadFile(got)
	if err := errors.Join(err, other); err != nil || !bytes.Equal(first, second) {
		t.Errorf("%s differs: %v", got, err)
	}
}
