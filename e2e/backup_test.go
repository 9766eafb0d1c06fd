package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/internal/backups"
)

// restoredAs is what linkledger restore prints.
type restoredAs = backups.Restored

// traffic is a load on a service that goes on until it is stopped.
type traffic struct {
	ledger

	stop  context.CancelFunc
	ended sync.WaitGroup
}

// startTraffic creates and visits links.
func startTraffic(t *testing.T, d *dev, workers int) *traffic {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &traffic{
		ledger: ledger{created: map[string]string{}, clicked: map[string]int{}, unknown: map[string]int{}}, stop: stop,
	}
	for worker := range workers {
		l.ended.Go(func() { l.load(ctx, d, worker) })
	}
	t.Cleanup(l.end)
	return l
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

// TestBackupAndRestoreOfDev backs up a dev under load, loses it, and restores it to an empty place.
func TestBackupAndRestoreOfDev(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder, restored := filepath.Join(parent, "data"), filepath.Join(parent, "restored")
	kept := filepath.Join(parent, "backups")
	d := startDev(t, folder)
	d.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"noted","note":"a secret"}]}`)
	public, heads := strings.TrimSpace(mustRun(t, "audit", "key", filepath.Join(parent, "auditor"), "--name", "auditor")),
		filepath.Join(parent, "heads")
	head, log, code := commandIn(t, []string{"LINKLEDGER_SIGNING_KEY_FILE=" + filepath.Join(parent, "auditor")},
		"audit", "checkpoint", "--data", folder)
	if err := os.WriteFile(heads, []byte(head), 0o600); err != nil || code != 0 {
		t.Fatalf("no head: %v, %s", err, log)
	}
	load := startTraffic(t, d, 4)
	load.await(t, 20)
	mustRun(t, "backup", kept, "--data", folder)
	load.await(t, len(load.answered().created)+20)
	before := load.answered()
	var made backups.Manifest
	if err := json.Unmarshal([]byte(mustRun(t, "backup", kept, "--data", folder, "--json")), &made); err != nil {
		t.Fatal(err)
	}
	after := load.answered()
	load.await(t, len(after.created)+20)
	load.end()
	d.interrupt()
	key := d.key
	master := filepath.Join(folder, "master.key")
	signing, err := os.ReadFile(filepath.Join(folder, "signing.key"))
	if err != nil {
		t.Fatal(err)
	}

	environment := "LINKLEDGER_MASTER_KEY_FILE=" + master
	text, log, code := commandIn(t, []string{environment}, "restore", kept, "--data", restored, "--json")
	var brought restoredAs
	if err := json.Unmarshal([]byte(text), &brought); err != nil || code != 0 {
		t.Fatalf("restore ended with %d: %s%s", code, text, log)
	}
	if int(brought.Links) < len(before.created) || brought.Accounts != 1 || brought.Keys == 0 ||
		brought.Events != made.Events {
		t.Errorf("it brought %+v of %+v", brought, made)
	}
	for name, args := range map[string][]string{
		"is not empty":     {"restore", kept, "--data", restored},
		"there is no back": {"restore", parent, "--data", filepath.Join(parent, "other")},
		"is its disk":      {"restore", kept, "--data", filepath.Join(parent, "no", "other")},
	} {
		if out, log, code := commandIn(t, []string{environment}, args...); code == 0 || !strings.Contains(log, name) {
			t.Errorf("%s: ended with %d: %s%s", name, code, out, log)
		}
	}
	if out, log, code := command(t, "restore", kept, "--data", filepath.Join(parent, "other")); code != exitUsage ||
		!strings.Contains(log, "--master-key") {
		t.Errorf("without the master key: %d: %s%s", code, out, log)
	}
	again := startDev(t, restored)
	again.key = key
	checkBetween(t, again, before, after, "noted")
	noted := again.call("GET", "/urls/noted", "")["urls"].([]any)[0].(map[string]any)
	if noted["note"] != "a secret" {
		t.Errorf("the note is %v", noted["note"])
	}
	operator(t, restored, "projections", "verify", "--all")
	operator(t, restored, "audit", "verify", "--checkpoint", heads, "--public-key", public)
	if signed, err := os.ReadFile(filepath.Join(restored, "signing.key")); err != nil ||
		!bytes.Equal(signed, signing) {
		t.Errorf("heads are signed by another key: %v", err)
	}
	again.call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","note":"goes on"}]}`)
	again.interrupt()
}
