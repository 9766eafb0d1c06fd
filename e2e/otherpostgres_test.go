package e2e

// This file replaces PostgreSQL by another version, as an upgrade of the operating system does.

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

	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/internal/pgserver/postgrestest"
)

// replaced is the data of a dev whose PostgreSQL is replaced, and what it answered.
type replaced struct {
	upgraded

	site   *site // has people and their sessions only
	folder string
	at     string
	agents []string // flags by which the visitors are people
	before answers
	people []answeredCall // calls on people and sessions
	kept   signedIn
	ended  signedIn // has signed out
	erased string   // id of a person
}

// on returns the data in another folder, for a dev at another address.
func (r *replaced) on(t *testing.T, folder string) *replaced {
	t.Helper()
	of, people := *r, *r.site
	of.folder, of.at, of.site = folder, freeAddress(t), &people
	people.t = t
	of.upgraded = upgraded{admin: "http://" + freeAddress(t), filler: filler{
		t: t, program: program, where: []string{"--data", folder}, base: "http://" + of.at, keys: r.keys,
	}}
	way := &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", of.at)
	}}
	t.Cleanup(way.CloseIdleConnections)
	client := &http.Client{Transport: way, CheckRedirect: noRedirects.CheckRedirect}
	people.ways = []*http.Client{client, client}
	of.kept.site, of.ended.site = &people, &people
	return &of
}

// copied returns a copy of the data.
func (r *replaced) copied(t *testing.T) *replaced {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	shell(t, fmt.Sprintf("cp -a %s %s", r.folder, folder))
	t.Cleanup(func() { removeAll(t, folder) })
	return r.on(t, folder)
}

// arguments are those of a dev on the data.
func (r *replaced) arguments(flags ...string) []string {
	return append([]string{
		"dev", "--data", r.folder, "--listen", r.at, "--admin-listen", strings.TrimPrefix(r.admin, "http://"),
		"--eventstore-listen", "127.0.0.1:0", "--base-url", siteURL, "--trusted-proxies=127.0.0.1/32", "--wait-timeout=8s",
		"--oidc-issuer", r.site.issuer.URL, "--oidc-client-id=linkledger", "--oidc-client-secret=" + clientSecret,
		"--oidc-groups=staff=demo:editor",
	}, slices.Concat(r.agents, flags)...)
}

// start starts a dev on the data, and waits until it is ready. It kills the process at most some
// times, each time a little later.
func (r *replaced) start(kills int, flags ...string) *child {
	r.t.Helper()
	for kill := 0; ; kill++ {
		process := startChild(r.t, program, r.arguments(flags...)...)
		within := startTimeout
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
		process.kill()
	}
}

// interrupt ends a dev as Ctrl-C does, and checks that it ends without an error.
func (r *replaced) interrupt(process *child) {
	r.t.Helper()
	if err := process.process.Process.Signal(syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	<-process.ended
	if code := process.process.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("dev stopped with %d:\n%s", code, process.output.String())
	}
}

// newReplaced returns the data of a dev that was killed right after its last answer.
func newReplaced(t *testing.T) *replaced {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	t.Cleanup(func() { removeAll(t, folder) })
	r := (&replaced{site: &site{
		issuer: openidtest.New(t), asking: new(sync.Mutex), opened: new(atomic.Uint32),
	}}).on(t, folder)
	r.agents = asPeople(t, program)
	r.site.issuer.Register(openidtest.Client{
		ID: "linkledger", Secret: clientSecret, RedirectURLs: []string{siteURL + signin.CallbackPath},
	})
	copyCluster(t, filepath.Join(folder, "postgres"))
	process := startDevProgram(t, program, folder, r.arguments()[3:]...)
	r.keys = map[string]string{demoUser: process.key}
	r.fill()
	erased := r.site.signIn(person("erna", "Erna", "staff"))
	r.kept, r.ended = r.site.signIn(person("kim", "Kim", "staff")), r.site.signIn(person("kim", "Kim", "staff"))
	r.kept.must(0, "PATCH", "/session", `{"account":"demo"}`)
	r.kept.must(0, "POST", "/urls", createLink("kims"))
	r.erased = erased.id
	r.before = r.answers()
	r.open("late")
	r.people = r.answersOfPeople()
	// The last changes: of the keys, once through another process.
	r.ended.must(0, "DELETE", "/session", "")
	r.operate("person", "erase", r.erased)
	r.call("late", "POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"late","note":"at the end"}]}`)
	process.kill()
	awaitEndOfPostgreSQL(t, folder)
	return r
}

// awaitEndOfPostgreSQL waits until the server of a dev that was killed has ended: it changes the
// files until then.
func awaitEndOfPostgreSQL(t *testing.T, folder string) {
	t.Helper()
	late, tick := time.After(startTimeout), time.NewTicker(20*time.Millisecond)
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
	var opened openedAccount
	if err := json.Unmarshal([]byte(r.operate("account", "create", "--username", username, "--json")), &opened); err != nil {
		r.t.Fatal(err)
	}
	r.keys[username] = opened.APIKey
}

// answersOfPeople returns what the program answers to those who are signed in, and of them.
func (r *replaced) answersOfPeople() (all []answeredCall) {
	r.t.Helper()
	for _, path := range []string{"/session", "/urls?order_by=hash", "/urls/kims/history"} {
		all = append(all, answeredCall{"", path, withoutUse(r.kept.must(0, "GET", path, ""))})
	}
	for _, path := range []string{"/keys", "/activity?limit=100"} {
		all = append(all, answeredCall{demoUser, path, withoutUse(r.read(demoUser, path))})
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
	r.ended.refused(noSession, 0, "GET", "/session", "")
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
	if again := r.site.signIn(person("kim", "Kim", "staff")); again.id != r.kept.id {
		r.t.Errorf("Kim is %s now, and was %s", again.id, r.kept.id)
	}
	r.answersAsBefore(r.before)
}

// firstVisit visits a link until it is answered otherwise than that the service is not ready.
func (r *replaced) firstVisit(process *child, hash string) answeredVisit {
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
		case <-process.ended:
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
		last, session := r.read(demoUser, "/urls?order_by=hash&limit=1000"), r.kept.session["id"]
		r.interrupt(process)
		for _, line := range []string{"set aside", "loaded from their copy", "are built from the log"} {
			if !strings.Contains(process.output.String(), line) {
				t.Errorf("the log lacks %q:\n%s", line, process.output.String())
			}
		}
		if kept := r.clusters(); len(kept) != 1 {
			t.Errorf("set aside are %s", kept)
		}
		process = r.start(0)
		r.wantContained("links", last, r.read(demoUser, "/urls?order_by=hash&limit=1000"))
		if now := r.kept.must(0, "GET", "/session", "")["session"].(map[string]any)["id"]; now != session {
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
		process := startChild(t, program, r.arguments()...)
		if first := r.firstVisit(process, "go"); !slices.Contains(r.before.Visits, first) {
			t.Errorf("the first visit that is answered: %+v", first)
		}
		if !r.ready(process, startTimeout) {
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
			out, log, code := command(t, r.arguments(other, "--log-level=error")...)
			if code != exitUsage || !strings.Contains(log, "no copy in "+r.folder) ||
				!strings.Contains(log, "apt.postgresql.org") || strings.Count(log, "\n") != 1 {
				t.Errorf("ended with %d: %s%s", code, out, log)
			}
		}
		if kept := r.clusters(); len(kept) > 0 {
			t.Errorf("set aside are %s", kept)
		}
		r.start(0).kill()
		process := r.start(0, other)
		r.asBefore()
		r.interrupt(process)
	})
}
