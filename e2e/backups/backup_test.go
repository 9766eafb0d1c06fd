package backups_test

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

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/backups"
	"linkledger/internal/soak"
	"linkledger/projections"
)

// restoredAs is what linkledger restore prints.
type restoredAs = backups.Restored

// traffic is a load on a service that goes on until it is stopped.
type traffic struct {
	e2etest.Ledger

	stop    context.CancelFunc
	ended   sync.WaitGroup
	workers int // that there have been
}

// startTraffic creates and visits links.
func startTraffic(t *testing.T, d *e2etest.Dev) *traffic {
	t.Helper()
	l := &traffic{
		Ledger: e2etest.Ledger{Created: map[string]string{}, Clicked: map[string]int{}, Unknown: map[string]int{}},
	}
	l.goOn(t, d)
	t.Cleanup(l.end)
	return l
}

// goOn puts the load on a service again after end.
func (l *traffic) goOn(t *testing.T, d *e2etest.Dev) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	for range 4 {
		worker := l.workers
		l.workers++
		l.ended.Go(func() { l.Load(ctx, d, worker) })
	}
}

func (l *traffic) end() {
	l.stop()
	l.ended.Wait()
}

// answered returns what was answered so far.
func (l *traffic) answered() *e2etest.Ledger {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return &e2etest.Ledger{Created: maps.Clone(l.Created), Clicked: maps.Clone(l.Clicked), Unknown: maps.Clone(l.Unknown)}
}

// await waits until so many links were answered.
func (l *traffic) await(t *testing.T, links int) {
	t.Helper()
	late := time.After(e2etest.StartTimeout)
	for len(l.answered().Created) < links {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			t.Fatal("there is no load")
		}
	}
}

// checkBetween checks that a restored service has what was answered before its backup, and nothing
// that was not answered before the backup ended.
func checkBetween(t *testing.T, d *e2etest.Dev, before, after *e2etest.Ledger, others ...string) {
	t.Helper()
	total := 0
	for offset := 0; ; {
		answer := d.Call("GET", fmt.Sprintf("/urls?limit=100&offset=%d&order_by=created", offset), "")
		urls := answer["urls"].([]any)
		for _, item := range urls {
			url := item.(map[string]any)
			hash := url["hash"].(string)
			if slices.Contains(others, hash) {
				continue
			}
			long, answered := after.Created[hash]
			if !answered && !inFlight(after, url["long_url"].(string)) {
				t.Errorf("%s was not answered", hash)
			} else if answered && url["long_url"] != long {
				t.Errorf("%s leads to %v, was created for %s", hash, url["long_url"], long)
			}
			clicks := int(url["total_clicks"].(float64))
			if clicks < before.Clicked[hash] || clicks > after.Clicked[hash]+after.Unknown[hash]+1 {
				t.Errorf("%s has %d clicks, answered were %d before and %d after", hash, clicks, before.Clicked[hash],
					after.Clicked[hash])
			}
			delete(before.Created, hash)
			total++
		}
		if len(urls) < 100 {
			break
		}
		offset += len(urls)
	}
	if len(before.Created) > 0 {
		t.Errorf("of the links that were answered before the backup, %d are missing", len(before.Created))
	}
	if total == 0 {
		t.Error("no link is there")
	}
}

// inFlight reports whether a call that made a link may not have been answered yet: each worker of
// the load waits for one call, the last of its own.
func inFlight(after *e2etest.Ledger, long string) bool {
	var worker, n int
	if _, err := fmt.Sscanf(long, "https://example.com/%d/%d", &worker, &n); err != nil {
		return false
	}
	for _, other := range after.Created {
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
	out, log, code := e2etest.Command(t, args...)
	if code != 0 {
		t.Fatalf("%s ended with %d: %s%s", args, code, out, log)
	}
	return out
}

// drillOf returns the commands of a drill of the documents, block by block.
func drillOf(t *testing.T, heading, parent string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/backup-and-upgrade.md")
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
	for _, block := range e2etest.ReadmeBlock.FindAllStringSubmatch(section, -1) {
		lines := strings.NewReplacer(
			"./linkledger ", e2etest.Program+" ", "/safe/", parent+"/safe/", "/backup/", parent+"/backup/",
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
func underLoad(t *testing.T, d *e2etest.Dev, backUp func()) (before, after *e2etest.Ledger) {
	t.Helper()
	load := startTraffic(t, d)
	load.await(t, 20)
	before = load.answered()
	backUp()
	after = load.answered()
	load.await(t, len(after.Created)+10)
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

func wantNoted(t *testing.T, d *e2etest.Dev) {
	t.Helper()
	noted := d.Call("GET", "/urls/noted", "")["urls"].([]any)[0].(map[string]any)
	if noted["note"] != "a secret" {
		t.Errorf("the note is %v", noted["note"])
	}
}

// TestDrillOfDev runs the drill of the documents for dev, under load.
func TestDrillOfDev(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	blocks := drillOf(t, "Drill of `dev`", parent)
	d := e2etest.StartDev(t, filepath.Join(parent, "data"))
	d.Call("POST", "/urls", notedLink)
	before, after := underLoad(t, d, func() { e2etest.Shell(t, blocks[0]) })
	d.Kill()
	late := time.Now().Add(e2etest.StartTimeout) // PostgreSQL of a killed process ends by itself
	for e2etest.Shell(t, blocks[1]); time.Now().Before(late); {
		if _, err := os.Stat(filepath.Join(parent, "lost", "postgres", "cluster", "postmaster.pid")); err != nil {
			break
		}
	}
	if out := e2etest.Shell(t, blocks[2]); !strings.Contains(out, "links created") {
		t.Errorf("restore: %s", out)
	}
	again := e2etest.StartDev(t, filepath.Join(parent, "data"))
	again.Key = d.Key
	wantProof(t, e2etest.Shell(t, blocks[3]))
	checkBetween(t, again, before, after, "noted")
	wantNoted(t, again)
	again.Interrupt()
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
	i := installtest.Install(t, "--base-url=https://sho.rt", "--master-key="+master)
	if err := os.Symlink(i.Folder, filepath.Join(parent, "data")); err != nil {
		t.Fatal(err)
	}
	i.Eventually("the account is known", func() bool {
		_, err := e2etest.Call(t.Context(), i.Base, i.Key, "GET", "/account", "")
		return err == nil
	})
	restored := strings.Replace(i.Database.DSN(), "/linkledger?", "/restored?", 1)
	variables := fmt.Sprintf("export EVENTSTORE='esdb://%s?tls=false' DATABASE='%s' RESTORED='%s'\n",
		i.StoreAddress, i.Database.DSN(), restored)
	d := &e2etest.Dev{T: t, Base: i.Base, Key: i.Key}
	d.Call("POST", "/urls", notedLink)
	before, after := underLoad(t, d, func() { e2etest.Shell(t, variables+blocks[0]) })
	i.Service.Kill()
	i.Store.Kill()
	e2etest.Shell(t, blocks[1])
	i.Exec(i.ConnectTo(i.Database.DSN()), "CREATE DATABASE restored")
	if out := e2etest.Shell(t, variables+blocks[2]); !strings.Contains(out, "links created") {
		t.Errorf("restore: %s", out)
	}
	if out, log, code := e2etest.CommandIn(t, []string{"LINKLEDGER_MASTER_KEY=" + master}, "restore",
		filepath.Join(parent, "backup", "linkledger"), "--events", filepath.Join(parent, "again"),
		"--database", restored,
	); code != e2etest.ExitUsage || !strings.Contains(log, "the database is not empty") {
		t.Errorf("restored twice: %d: %s%s", code, out, log)
	}
	i.DSN = restored
	i.StartStore()
	i.Service = i.Serve(i.Base, i.Admin, "new spool", i.Flags...)
	awaitCaughtUp(i, i.Backends())
	wantProof(t, e2etest.Shell(t, variables+blocks[3]))
	checkBetween(t, d, before, after, "noted")
	wantNoted(t, d)
}

// TestRestores backs up a dev at random moments of a load, and restores it to an empty place each
// time.
func TestRestores(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder, kept := filepath.Join(parent, "data"), filepath.Join(parent, "backups")
	d := e2etest.StartDev(t, folder, "--backup", filepath.Join(parent, "scheduled"), "--backup-keep=2")
	d.Call("POST", "/urls", notedLink)
	load := startTraffic(t, d)
	master := "LINKLEDGER_MASTER_KEY_FILE=" + filepath.Join(folder, "master.key")
	for round := range soak.N(1, 30) {
		load.await(t, len(load.answered().Created)+1+rand.IntN(40))
		before := load.answered()
		var made backups.Manifest
		if err := json.Unmarshal([]byte(mustRun(t, "backup", kept, "--data", folder, "--json")), &made); err != nil {
			t.Fatal(err)
		}
		after, least := load.answered(), len(before.Created)
		load.await(t, len(after.Created)+rand.IntN(40))
		load.end()
		restored := filepath.Join(parent, fmt.Sprint("restored-", round))
		text, log, code := e2etest.CommandIn(t, []string{master}, "restore", kept, "--data", restored, "--json")
		var brought restoredAs
		if err := json.Unmarshal([]byte(text), &brought); err != nil || code != 0 {
			t.Fatalf("restore ended with %d: %s%s", code, text, log)
		}
		if int(brought.Links) < least || brought.Accounts != 1 || brought.Keys == 0 ||
			brought.Events != made.Events {
			t.Errorf("it brought %+v of %+v", brought, made)
		}
		wantSameFile(t, filepath.Join(folder, "signing.key"), filepath.Join(restored, "signing.key"))
		again := e2etest.StartDev(t, restored)
		again.Key = d.Key
		checkBetween(t, again, before, after, "noted")
		wantNoted(t, again)
		again.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","note":"goes on"}]}`)
		again.Interrupt()
		e2etest.RemoveAll(t, restored)
		load.goOn(t, d)
		t.Logf("round %d: %d links before the backup, %d after it, %d events in %s", round, least,
			len(after.Created), made.Events, made.Duration)
	}
	killBackups(t, kept, folder)
	load.end()
	if out, log, code := e2etest.Command(t, "restore", kept, "--data", filepath.Join(parent, "other")); code != e2etest.ExitUsage ||
		!strings.Contains(log, "--master-key") {
		t.Errorf("without the master key: %d: %s%s", code, out, log)
	}
	if out, log, code := e2etest.CommandIn(t, []string{master}, "restore", kept, "--data", folder); code != e2etest.ExitUsage ||
		!strings.Contains(log, "is not empty") {
		t.Errorf("over a running dev: %d: %s%s", code, out, log)
	}
	wantScheduled(t, d, filepath.Join(parent, "scheduled"))
	d.Interrupt()
}

// killBackups kills backups at random moments. The newest one stays whole, and the next succeeds.
func killBackups(t *testing.T, kept, folder string) {
	t.Helper()
	for range soak.N(4, 40) {
		process := installtest.StartChild(t, e2etest.Program, "backup", kept, "--data", folder)
		select {
		case <-process.Ended:
		case <-time.After(time.Duration(rand.IntN(300)) * time.Millisecond):
			process.Kill()
		}
		set, _, err := backups.Newest(kept)
		if err != nil {
			t.Fatal(err)
		}
		if out, log, code := e2etest.Command(t, "eventstore", "check", filepath.Join(set, "events")); code != 0 {
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

// wantScheduled waits for the backup that a service makes by itself, and checks its health, its metric and its folder.
func wantScheduled(t *testing.T, d *e2etest.Dev, folder string) {
	t.Helper()
	late := time.After(e2etest.StartTimeout)
	for {
		_, state := e2etest.Scrape(t, d.Admin+"/health/ready")
		_, metrics := e2etest.Scrape(t, d.Admin+"/metrics")
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
