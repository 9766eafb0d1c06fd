// This file replaces PostgreSQL by another version, as an upgrade of the operating system does.

package upgrades_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/e2e/sitetest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/internal/pgserver/postgrestest"
)

// replaced is the data of a dev whose PostgreSQL is replaced, and the answers of that dev.
type replaced struct {
	upgraded

	site   *sitetest.Site // has people and their sessions only
	folder string
	at     string
	agents []string // flags that make the visitors people
	before answers
	people []answeredCall // calls on people and sessions
	kept   sitetest.SignedIn
	ended  sitetest.SignedIn // has signed out
	erased string            // id of a person
}

// on returns the data in another folder, for a dev at another address.
func (r *replaced) on(t *testing.T, folder string) *replaced {
	t.Helper()
	of, people := *r, *r.site
	of.folder, of.at, of.site = folder, installtest.FreeAddress(t), &people
	people.T = t
	of.upgraded = upgraded{admin: "http://" + installtest.FreeAddress(t), filler: filler{
		t: t, program: e2etest.Program, where: []string{"--data", folder}, base: "http://" + of.at, keys: r.keys,
	}}
	way := &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", of.at)
	}}
	t.Cleanup(way.CloseIdleConnections)
	client := &http.Client{Transport: way, CheckRedirect: e2etest.NoRedirects.CheckRedirect}
	people.Ways = []*http.Client{client, client}
	of.kept.Site, of.ended.Site = &people, &people
	return &of
}

// copied returns a copy of the data.
func (r *replaced) copied(t *testing.T) *replaced {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	e2etest.Shell(t, fmt.Sprintf("cp -a %s %s", r.folder, folder))
	t.Cleanup(func() { e2etest.RemoveAll(t, folder) })
	return r.on(t, folder)
}

// arguments returns the arguments of a dev on the data.
func (r *replaced) arguments(flags ...string) []string {
	return append([]string{
		"dev", "--data", r.folder, "--listen", r.at, "--admin-listen", strings.TrimPrefix(r.admin, "http://"),
		"--eventstore-listen", "127.0.0.1:0", "--base-url", sitetest.SiteURL, "--trusted-proxies=127.0.0.1/32", "--wait-timeout=8s",
		"--oidc-issuer", r.site.Issuer.URL, "--oidc-client-id=linkledger", "--oidc-client-secret=" + sitetest.ClientSecret,
		"--oidc-groups=staff=demo:editor",
	}, slices.Concat(r.agents, flags)...)
}

// start starts a dev on the data, and waits until it is ready. It kills the process at most some
// times, each time a little later.
func (r *replaced) start(kills int, flags ...string) *installtest.Child {
	r.t.Helper()
	for kill := 0; ; kill++ {
		process := installtest.StartChild(r.t, e2etest.Program, r.arguments(flags...)...)
		within := e2etest.StartTimeout
		if kill < kills {
			within = time.Duration(kill+1) * 150 * time.Millisecond
		}
		if r.ready(process, within) {
			r.t.Logf("ready after %d kills", kill)
			return process
		}
		if kill == kills {
			r.t.Fatal("not ready in time")
		}
		process.Kill()
	}
}

// interrupt ends a dev as Ctrl-C does, and checks that it ends without an error.
func (r *replaced) interrupt(process *installtest.Child) {
	r.t.Helper()
	if err := process.Process.Process.Signal(syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	<-process.Ended
	if code := process.Process.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("dev stopped with %d:\n%s", code, process.Output.String())
	}
}

// newReplaced returns the data of a dev that was killed right after its last answer.
func newReplaced(t *testing.T) *replaced {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	t.Cleanup(func() { e2etest.RemoveAll(t, folder) })
	r := (&replaced{site: &sitetest.Site{
		Issuer: openidtest.New(t), Asking: new(sync.Mutex), Opened: new(atomic.Uint32),
	}}).on(t, folder)
	r.agents = asPeople(t, e2etest.Program)
	r.site.Issuer.Register(openidtest.Client{
		ID: "linkledger", Secret: sitetest.ClientSecret, RedirectURLs: []string{sitetest.SiteURL + signin.CallbackPath},
	})
	e2etest.CopyCluster(t, filepath.Join(folder, "postgres"))
	process := e2etest.StartDevProgram(t, e2etest.Program, folder, r.arguments()[3:]...)
	r.keys = map[string]string{e2etest.DemoUser: process.Key}
	r.fill()
	erased := r.site.SignIn(sitetest.Person("erna", "Erna", "staff"))
	r.kept, r.ended = r.site.SignIn(sitetest.Person("kim", "Kim", "staff")), r.site.SignIn(sitetest.Person("kim", "Kim", "staff"))
	r.kept.Must(0, "PATCH", "/session", `{"account":"demo"}`)
	r.kept.Must(0, "POST", "/urls", sitetest.CreateLink("kims"))
	r.erased = erased.ID
	r.before = r.answers()
	r.open("late")
	r.people = r.answersOfPeople()
	// The last changes: of the keys, once through another process.
	r.ended.Must(0, "DELETE", "/session", "")
	r.operate("person", "erase", r.erased)
	r.call("late", "POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"late","note":"at the end"}]}`)
	process.Kill()
	awaitEndOfPostgreSQL(t, folder)
	return r
}

// awaitEndOfPostgreSQL waits until the server of a dev that was killed has ended: it changes the
// files until then.
func awaitEndOfPostgreSQL(t *testing.T, folder string) {
	t.Helper()
	late, tick := time.After(e2etest.StartTimeout), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Stat(filepath.Join(folder, "postgres", "cluster", "postmaster.pid"))
		if os.IsNotExist(err) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("PostgreSQL does not end: %v", err)
		}
	}
}

func (r *replaced) open(username string) {
	r.t.Helper()
	var opened e2etest.OpenedAccount
	if err := json.Unmarshal([]byte(r.operate("account", "create", "--username", username, "--json")), &opened); err != nil {
		r.t.Fatal(err)
	}
	r.keys[username] = opened.APIKey
}

// answersOfPeople returns the answers of the program to signed-in persons, and the answers about them.
func (r *replaced) answersOfPeople() (all []answeredCall) {
	r.t.Helper()
	for _, path := range []string{"/session", "/urls?order_by=hash", "/urls/kims/history"} {
		all = append(all, answeredCall{"", path, withoutUse(r.kept.Must(0, "GET", path, ""))})
	}
	for _, path := range []string{"/keys", "/activity?limit=100"} {
		all = append(all, answeredCall{e2etest.DemoUser, path, withoutUse(r.read(e2etest.DemoUser, path))})
	}
	return all
}

// withoutUse removes when something was used last, which every call may change.
func withoutUse(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range []string{"used_at", "last_used", "last_used_at", "expires_at"} {
			delete(value, name)
		}
		for _, field := range value {
			withoutUse(field)
		}
	case []any:
		for _, item := range value {
			withoutUse(item)
		}
	}
	return withoutDay(value)
}

// asBefore checks that a dev has everything that the first one has answered.
func (r *replaced) asBefore() {
	r.t.Helper()
	for _, call := range r.answersOfPeople() {
		for _, before := range r.people {
			if before.Username == call.Username && before.Path == call.Path {
				r.wantContained(call.Path, before.Answer, call.Answer)
			}
		}
	}
	r.ended.Refused(sitetest.NoSession, 0, "GET", "/session", "")
	if got := fmt.Sprint(r.read("late", "/urls/late")); !strings.Contains(got, "at the end") {
		r.t.Errorf("the last note is lost: %s", got)
	}
	if history := r.operate("audit", "history", "late", "--format=json"); !strings.Contains(history, "at the end") {
		r.t.Errorf("the history lacks the last note: %s", history)
	}
	if listed := r.operate("person", "list", "--json"); strings.Contains(listed, "Erna") || !strings.Contains(listed, "Kim") {
		r.t.Errorf("the persons are %s", listed)
	}
	// People are the same persons as before.
	if again := r.site.SignIn(sitetest.Person("kim", "Kim", "staff")); again.ID != r.kept.ID {
		r.t.Errorf("Kim is %s now, and was %s", again.ID, r.kept.ID)
	}
	r.answersAsBefore(r.before)
}

// firstVisit visits a link until it is answered otherwise than that the service is not ready.
func (r *replaced) firstVisit(process *installtest.Child, hash string) answeredVisit {
	r.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if listening, err := net.Dial("tcp", r.at); err == nil {
			_ = listening.Close()
			if visit := r.look(hash); visit.Status != http.StatusServiceUnavailable {
				return visit
			}
		}
		select {
		case <-tick.C:
		case <-process.Ended:
			r.t.Fatal("dev has ended")
		}
	}
}

// clusters returns the clusters that were set aside.
func (r *replaced) clusters() []string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.folder, "postgres", "cluster-*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// TestOtherPostgreSQL starts dev with another version of PostgreSQL than the one that made its
// database. Nothing that was answered may be missing, although the former process was killed.
func TestOtherPostgreSQL(t *testing.T) {
	t.Parallel()
	other := "--postgres-bin=" + postgrestest.OtherBin(t)
	data := newReplaced(t)
	t.Run("and back", func(t *testing.T) {
		t.Parallel()
		r := data.copied(t)
		process := r.start(0, other)
		r.asBefore()
		r.goesOn()
		last, session := r.read(e2etest.DemoUser, "/urls?order_by=hash&limit=1000"), r.kept.Session["id"]
		r.interrupt(process)
		for _, line := range []string{"set aside", "loaded from their copy", "are built from the log"} {
			if !strings.Contains(process.Output.String(), line) {
				t.Errorf("the log lacks %q:\n%s", line, process.Output.String())
			}
		}
		if kept := r.clusters(); len(kept) != 1 {
			t.Errorf("set aside are %s", kept)
		}
		process = r.start(0)
		r.wantContained("links", last, r.read(e2etest.DemoUser, "/urls?order_by=hash&limit=1000"))
		if now := r.kept.Must(0, "GET", "/session", "")["session"].(map[string]any)["id"]; now != session {
			t.Errorf("the session is %v, want %v", now, session)
		}
		r.verified()
		r.interrupt(process)
		if kept := r.clusters(); len(kept) != 2 {
			t.Errorf("set aside are %s", kept)
		}
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		r := data.copied(t)
		process := r.start(20, other)
		r.asBefore()
		r.interrupt(process)
		if kept := r.clusters(); len(kept) != 1 {
			t.Errorf("set aside are %s", kept)
		}
	})
	t.Run("moved away", func(t *testing.T) {
		t.Parallel()
		r := data.copied(t)
		if err := os.RemoveAll(filepath.Join(r.folder, "postgres")); err != nil {
			t.Fatal(err)
		}
		process := installtest.StartChild(t, e2etest.Program, r.arguments()...)
		if first := r.firstVisit(process, "go"); !slices.Contains(r.before.Visits, first) {
			t.Errorf("the first visit that is answered: %+v", first)
		}
		if !r.ready(process, e2etest.StartTimeout) {
			t.Fatal("not ready in time")
		}
		r.asBefore()
		r.interrupt(process)
	})
	t.Run("without a copy", func(t *testing.T) {
		t.Parallel()
		r := data.copied(t)
		if err := os.RemoveAll(filepath.Join(r.folder, "keys")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			out, log, code := e2etest.Command(t, r.arguments(other, "--log-level=error")...)
			if code != e2etest.ExitUsage || !strings.Contains(log, "no copy in "+r.folder) ||
				!strings.Contains(log, "apt.postgresql.org") || strings.Count(log, "\n") != 1 {
				t.Errorf("ended with %d: %s%s", code, out, log)
			}
		}
		if kept := r.clusters(); len(kept) > 0 {
			t.Errorf("set aside are %s", kept)
		}
		r.start(0).Kill()
		process := r.start(0, other)
		r.asBefore()
		r.interrupt(process)
	})
}
