// Backups of serve and copies of a running dev, each restored to an empty place, and a log that was
// restored beneath the read models.

package backups_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/backups"
	"linkledger/internal/soak"
)

// asDev returns an installation as what calls are sent to.
func asDev(i *installtest.Installation) *e2etest.Dev {
	return &e2etest.Dev{T: i.T, Base: i.Base, Admin: i.Admin, Key: i.Key}
}

// awaitAccount waits until a service knows the account of the tests.
func awaitAccount(i *installtest.Installation) {
	i.T.Helper()
	i.Eventually("the account is known", func() bool {
		_, err := e2etest.Call(i.T.Context(), i.Base, i.Key, "GET", "/account", "")
		return err == nil
	})
}

// restoredTo returns an installation of its own on a restored log and database, in the same PostgreSQL.
func restoredTo(i *installtest.Installation, folder, dsn string) *installtest.Installation {
	i.T.Helper()
	other := &installtest.Installation{
		T: i.T, Folder: folder, Program: i.Program, Flags: i.Flags, Database: i.Database, DSN: dsn, Key: i.Key,
		StoreAddress: installtest.FreeAddress(i.T), Base: "http://" + installtest.FreeAddress(i.T), Admin: "http://" + installtest.FreeAddress(i.T),
	}
	other.StartStore()
	other.StartService()
	awaitCaughtUp(other, other.Backends())
	return other
}

// TestRestoresOfServe backs up a serve on the embedded event store at random moments of a load, and restores it to an
// empty folder and database each time.
func TestRestoresOfServe(t *testing.T) {
	t.Parallel()
	master := strings.Repeat("A", 43) + "="
	run := func(args ...string) string {
		t.Helper()
		out, log, code := e2etest.CommandIn(t, []string{"LINKLEDGER_MASTER_KEY=" + master}, args...)
		if code != 0 {
			t.Fatalf("%s ended with %d: %s%s", args, code, out, log)
		}
		return out
	}
	i := installtest.Install(t, "--base-url=https://sho.rt", "--master-key="+master)
	awaitAccount(i)
	kept, heads := filepath.Join(i.Folder, "backups"), filepath.Join(i.Folder, "heads")
	auditor := filepath.Join(i.Folder, "auditor.key")
	public := strings.TrimSpace(e2etest.Must(t, "audit", "key", auditor))
	d := asDev(i)
	d.Call("POST", "/urls", notedLink)
	admin := i.ConnectTo(i.Database.DSN())
	load := startTraffic(t, d)
	for round := range soak.N(2, 30) {
		load.await(t, len(load.answered().Created)+1+rand.IntN(40))
		write(t, heads, signedHead(i, auditor))
		before := load.answered()
		var made backups.Manifest
		if err := json.Unmarshal([]byte(run("backup", kept, "--events", filepath.Join(i.Folder, "events"),
			"--database", i.Database.DSN(), "--json")), &made); err != nil {
			t.Fatal(err)
		}
		after, least := load.answered(), len(before.Created)
		load.await(t, len(after.Created)+rand.IntN(40))
		load.end()

		folder := filepath.Join(i.Folder, fmt.Sprint("restored-", round))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("restored_", round)
		i.Exec(admin, "CREATE DATABASE "+name)
		dsn := strings.Replace(i.Database.DSN(), "/linkledger?", "/"+name+"?", 1)
		var brought restoredAs
		if err := json.Unmarshal([]byte(run("restore", kept, "--events", filepath.Join(folder, "events"),
			"--database", dsn, "--json")), &brought); err != nil {
			t.Fatal(err)
		}
		if int(brought.Links) < least || brought.Accounts != 1 || brought.Keys == 0 || brought.Events != made.Events {
			t.Errorf("it brought %+v of %+v", brought, made)
		}
		again := restoredTo(i, folder, dsn)
		checkBetween(t, asDev(again), before, after, "noted")
		wantNoted(t, asDev(again))
		wantProof(t, run(append([]string{"projections", "verify", "--all"}, again.Backends()...)...)+
			run(append([]string{"audit", "verify", "--checkpoint", heads, "--public-key", public},
				again.Backends()...)...))
		asDev(again).Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","note":"goes on"}]}`)
		stopService(again)
		again.Store.Kill()
		i.Exec(admin, "DROP DATABASE "+name+" WITH (FORCE)")
		e2etest.RemoveAll(t, folder)
		load.goOn(t, d)
		t.Logf("round %d: %d links before the backup, %d after it, %d events in %s", round, least,
			len(after.Created), made.Events, made.Duration)
	}
	load.end()
}

// TestLogThatWasWrittenOn restores the log of a service from a backup and writes on more than was lost, before the
// service starts with its former PostgreSQL. Links that were lost lead nowhere, new ones redirect at once, and the
// read models are built anew. The audit says since when the log is another one.
func TestLogThatWasWrittenOn(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	awaitAccount(i)
	d := asDev(i)
	create := func(d *e2etest.Dev, hashes ...string) {
		t.Helper()
		for _, hash := range hashes {
			d.Call("POST", "/urls", fmt.Sprintf(
				`{"urls":[{"long_url":"https://example.com/","custom_hash":%q,"tags":["a tag"]}]}`, hash))
		}
	}
	create(d, "kept")
	stopService(i)
	i.StopDatabase()
	i.Store.Kill()
	e2etest.Shell(t, fmt.Sprintf("cd %s; cp -a events events.backup; cp -a postgres postgres.backup", i.Folder))
	i.StartStore()
	i.StartDatabase()
	i.StartService()
	create(d, "lost1", "lost2", "lost3")
	auditor, heads := filepath.Join(i.Folder, "auditor.key"), filepath.Join(i.Folder, "heads")
	public := strings.TrimSpace(e2etest.Must(t, "audit", "key", auditor))
	write(t, heads, signedHead(i, auditor))
	stopService(i)
	i.StopDatabase()
	i.Store.Kill()

	e2etest.Shell(t, fmt.Sprintf("cd %s; mv events events.lost; mv postgres postgres.lost; mv events.backup events; "+
		"mv postgres.backup postgres", i.Folder))
	i.StartStore()
	i.StartDatabase()
	i.StartService()
	create(d, "made1", "made2", "made3", "made4", "made5")
	stopService(i)
	i.StopDatabase()
	e2etest.Shell(t, fmt.Sprintf("cd %s; mv postgres postgres.new; mv postgres.lost postgres", i.Folder))
	i.StartDatabase()
	if out, log, code := i.Operate("audit", "verify", "--checkpoint", heads, "--public-key", public); code != e2etest.ExitFailed ||
		!strings.Contains(log, "the log forks from the log of the head of") ||
		!strings.Contains(log, "They agree up to position") {
		t.Errorf("audit verify ended with %d: %s%s", code, out, log)
	}
	i.Service = i.Serve(i.Base, i.Admin, "new spool", i.Flags...)
	e2etest.AwaitReady(t, i.Admin, http.StatusServiceUnavailable, `"log":"lacks events of the read models of`)
	visits := func(hash string, want int) {
		t.Helper()
		if status, err := e2etest.VisitStatus(t.Context(), i.Base, hash, "visitor"); err != nil || status != want {
			t.Errorf("%s is answered %d, %v; want %d", hash, status, err, want)
		}
	}
	visits("kept", http.StatusFound)
	visits("made1", http.StatusFound)
	for _, hash := range []string{"lost1", "lost2", "lost3"} {
		visits(hash, http.StatusNotFound)
	}
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, `"projection links":"ok"`)
	i.Eventually("the service has noticed", func() bool {
		_, err := e2etest.Call(t.Context(), i.Base, i.Key, "POST", "/urls",
			`{"urls":[{"long_url":"https://example.com/","custom_hash":"after"}]}`)
		return err == nil
	})
	for _, hash := range []string{"kept", "made1", "made5", "after"} {
		visits(hash, http.StatusFound)
	}
	visits("lost1", http.StatusNotFound)
	if urls := d.Call("GET", "/urls?order_by=hash", "")["urls"].([]any); len(urls) != 7 {
		t.Errorf("there are %d links", len(urls))
	}
	i.OperatorRuns("projections", "verify", "--all")
	if out, log, code := i.Operate("audit", "verify", "--checkpoint", heads, "--public-key", public); code != e2etest.ExitFailed ||
		!strings.Contains(log, "the log is not that of the head of") {
		t.Errorf("audit verify after the build ended with %d: %s%s", code, out, log)
	}
}

// signedHead signs the present log with the key in a file.
func signedHead(i *installtest.Installation, key string) string {
	i.T.Helper()
	text, err := os.ReadFile(key)
	if err != nil {
		i.T.Fatal(err)
	}
	return mustRun(i.T, append(
		[]string{"audit", "checkpoint", "--signing-key=" + strings.TrimSpace(string(text))}, i.Backends()...)...)
}

// TestFolderCopiedUnderLoad copies the folder of a running dev: first the log, and PostgreSQL while more links are
// made. The read models of the copy are ahead of its log. No link that the log has is denied there.
func TestFolderCopiedUnderLoad(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder, copied := filepath.Join(parent, "data"), filepath.Join(parent, "copy")
	d := e2etest.StartDev(t, folder)
	d.Call("POST", "/urls", notedLink)
	load := startTraffic(t, d)
	load.await(t, 40)
	before := load.answered()
	e2etest.Shell(t, fmt.Sprintf("mkdir -m 700 %[2]s; cp -a %[1]s/events %[2]s/", folder, copied))
	after := load.answered()
	load.await(t, len(after.Created)+40)
	// What PostgreSQL removes while it is copied is not missed.
	e2etest.Shell(t, fmt.Sprintf("cd %s; for each in *; do test $each = events || cp -a $each %s/ 2>/dev/null || true; done",
		folder, copied))
	load.await(t, len(load.answered().Created)+10)
	load.end()
	d.Kill()

	again := e2etest.StartDev(t, copied)
	again.Key = d.Key
	for range 2 {
		for hash := range before.Created {
			if status, err := e2etest.VisitStatus(t.Context(), again.Base, hash, "visitor"); err != nil || status != http.StatusFound {
				t.Errorf("%s is answered %d, %v", hash, status, err)
			}
		}
		e2etest.AwaitReady(t, again.Admin, http.StatusOK, `"projection links":"ok"`)
	}
	for late := time.Now().Add(e2etest.StartTimeout); ; <-time.After(20 * time.Millisecond) {
		_, err := e2etest.Call(t.Context(), again.Base, again.Key, "POST", "/urls",
			`{"urls":[{"long_url":"https://example.com/","custom_hash":"goes-on"}]}`)
		if err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	if redirected, err := e2etest.Visit(t.Context(), again.Base, "goes-on", "visitor"); err != nil || !redirected {
		t.Errorf("a new link redirects: %t, %v", redirected, err)
	}
	wantNoted(t, again)
	e2etest.Operator(t, copied, "projections", "verify", "--all")
	again.Interrupt()
}

// nameWithin is how long a projection that makes no progress may go unnamed, with the time that a probe may take.
const nameWithin = 5 * time.Second

// TestStandstillIsNamed keeps the projection of links from its work in several ways. The readiness check names it and
// the reason in one line, long before --ready-max-lag.
func TestStandstillIsNamed(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t, "--ready-max-lag=1h", "--wait-timeout=50ms")
	awaitAccount(i)
	database := i.ConnectTo(i.Database.DSN())
	for _, c := range []struct{ name, begin, end, says string }{
		{
			"a table is gone", "ALTER TABLE links_g1.links RENAME TO gone", "ALTER TABLE links_g1.gone RENAME TO links",
			"does not exist",
		},
		{
			"a table may not be written", "ALTER TABLE links_g1.links ADD CONSTRAINT none CHECK (hash <> hash) NOT VALID",
			"ALTER TABLE links_g1.links DROP CONSTRAINT none", "none",
		},
		{
			"a table is locked", "BEGIN; LOCK TABLE links_g1.links IN EXCLUSIVE MODE", "COMMIT", "no error is known",
		},
	} {
		e2etest.AwaitReady(t, i.Admin, http.StatusOK, `"projection links":"ok"`)
		i.Exec(database, c.begin)
		if _, err := e2etest.Call(
			t.Context(), i.Base, i.Key, "POST", "/urls", `{"urls":[{"long_url":"https://example.com/"}]}`,
		); err != nil && !strings.Contains(err.Error(), "The change is stored") { // as one is whose event is set aside
			t.Fatal(err)
		}
		began := time.Now()
		said := ""
		for said == "" || said == "ok" {
			var parts map[string]string
			_, body := e2etest.Scrape(t, i.Admin+"/health/ready")
			if err := json.Unmarshal([]byte(body), &parts); err != nil {
				t.Fatal(err)
			}
			if said = parts["projection links"]; time.Since(began) > e2etest.StartTimeout {
				t.Fatalf("%s: nothing is said", c.name)
			}
		}
		if took := time.Since(began); took > nameWithin || !strings.Contains(said, c.says) || strings.Contains(said, "\n") {
			t.Errorf("%s: after %s it says %q, want %q", c.name, took, said, c.says)
		}
		i.Exec(database, c.end)
		i.OperatorRuns("projections", "resume", "links")
		i.OperatorRuns("projections", "dead-letters", "retry", "links")
	}
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, `"projection links":"ok"`)
}
