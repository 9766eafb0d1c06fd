package operators_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/internal/operators"
	"linkledger/internal/operators/alonetest"
	"linkledger/projections/projectionstest"
	"linkledger/queries/accountlist"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }

// TestHosts checks by which names the console is opened: those that no page of others can have.
func TestHosts(t *testing.T) {
	t.Parallel()
	hosts := operators.Hosts{"ops.example"}
	for host, want := range map[string]bool{
		"127.0.0.1:8081": true, "[::1]:8081": true, "::1": true, "LOCALHOST:8081": true, "192.0.2.7": true,
		"Ops.Example:80": true, "ops.example": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example:8081": false,
		"fe80::1%evil.example": false, "sub.ops.example": false,
	} {
		if got := hosts.Knows(host); got != want {
			t.Errorf("the host %q is known: %t, want %t", host, got, want)
		}
	}
	if hosts.Has("localhost") || !hosts.Has("ops.example:443") {
		t.Error("a name that was not given is one, or one that was is none")
	}
}

// TestPagesNeedAnOperator requests pages without a session, as the owner of an account, from other sites and by a host
// name of others.
func TestPagesNeedAnOperator(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	account := c.Writer.Account()
	c.Await()
	nobody, operator, member := c.Browser(), c.Operator(), c.Browser()
	if a := member.Post(c.Link(accountlist.NewSession{Account: account}), nil); a.Status != http.StatusSeeOther {
		t.Fatalf("the sign-in of a member answers %d\n%s", a.Status, a.Text)
	}
	foreign := c.Operator()
	foreign.Host = "evil.example"
	for _, path := range []string{"/console", "/console/projections/links", "/console/sessions", "/console/streams"} {
		if a := nobody.Get(path); a.Leads != "/console/sign-in" {
			t.Errorf("%s without a session: %d, to %q", path, a.Status, a.Leads)
		}
		if a := member.Get(path); a.Status == http.StatusOK {
			t.Errorf("%s shows itself to the member of an account", path)
		}
		if a := foreign.Get(path); a.Status != http.StatusMisdirectedRequest {
			t.Errorf("%s by a foreign host: %d", path, a.Status)
		}
	}
	for _, site := range []string{"cross-site", "same-site"} {
		if a := operator.PostFrom(site, "/console/projections/links/pause"); a.Status != http.StatusForbidden {
			t.Errorf("an action from a %s page: %d", site, a.Status)
		}
	}
	operator.Shows("/console", "Nothing needs attention")
	if a := operator.Post("/console/sign-out", nil); a.Leads != "/console/sign-in" {
		t.Errorf("a sign-out leads to %q", a.Leads)
	}
	if a := operator.Get("/console"); a.Leads != "/console/sign-in" {
		t.Errorf("after the sign-out: %d, to %q", a.Status, a.Leads)
	}
}

// TestActions pauses, resumes, rebuilds, rolls back and prunes a projection.
func TestActions(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	c.Writer.Link(c.Writer.Account(), "one")
	c.Await()
	b := c.Operator()
	const path = "/console/projections/links"
	do := func(action, done string) {
		t.Helper()
		if a := b.Send(path+"/"+action, nil); !strings.Contains(a.Text, done) {
			t.Errorf("%s does not show %q\n%s", action, done, a.Text)
		}
	}
	do("pause", "The projection is paused")
	b.Shows("/console", "Needs attention", "links is paused by an operator")
	b.Shows("/console/processes", "v1.2.3", "7 clicks", "no process")
	do("resume", "The projection goes on")
	b.ShowsSoon("/console", "Nothing needs attention")
	b.Shows(path+"/rebuild", "The projection follows about", "No build was measured yet")
	do("rebuild", "The build has begun")
	b.ShowsSoon(path, `<td class="n">2</td><td>live <small>serves</small></td>`)
	do("rollback", "The former generation serves")
	b.Shows(path, `<td class="n">1</td><td>live <small>serves</small></td>`)
	do("prune", "The generations that do not serve are deleted")
	if a := b.Shows(path); strings.Contains(a.Text, "Roll back") {
		t.Error("there is a generation to roll back to")
	}
	for _, action := range []string{"pause", "resume", "rebuild", `"roll back"`, "prune"} {
		if !strings.Contains(c.Log(), "action="+action+" projection=links") {
			t.Errorf("the log does not say that an operator did %s", action)
		}
	}
	if a := b.Get("/console/projections/none"); a.Status != http.StatusNotFound {
		t.Errorf("an unknown projection answers %d", a.Status)
	}
}

// TestDeadLetters retries and discards an event that a projection has set aside.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	c.Await()
	b := c.Operator()
	stream := events.StreamTags + uuid.NewString()
	c.Writer.Append(stream, events.TagDeleted{TagID: uuid.NewString(), At: time.Now()}) // of a tag that never was
	b.ShowsSoon("/console", "tags has set aside events of "+stream+" (1)")
	const path = "/console/projections/tags"
	b.Shows(path, stream, "from 0 on", "Discard the first")
	named := map[string][]string{"stream": {stream}}
	if a := b.Send(path+"/retry", named); !strings.Contains(a.Text, `role="alert"`) {
		t.Errorf("an event that cannot be applied is retried\n%s", a.Text)
	}
	if a := b.Send(path+"/discard", nil); !strings.Contains(a.Text, "not the name of a stream") {
		t.Errorf("all streams are discarded at once\n%s", a.Text)
	}
	if a := b.Send(path+"/discard", named); !strings.Contains(a.Text, "The event is discarded") {
		t.Errorf("the event is not discarded\n%s", a.Text)
	}
	b.ShowsSoon("/console", "Nothing needs attention")
	if a := b.Send(path+"/discard", named); !strings.Contains(a.Text, "set aside no events of this stream") {
		t.Errorf("an event is discarded twice\n%s", a.Text)
	}
}

// TestSessions lists sessions and ends one.
func TestSessions(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	b, other := c.Operator(), c.Operator()
	listed := b.Shows("/console/sessions", "one-time link")
	var ended string
	for _, part := range strings.Split(listed.Text, `action="/console/sessions/`)[1:] {
		id, _, _ := strings.Cut(part, "/")
		if a := b.Send("/console/sessions/"+id+"/end", nil); !strings.Contains(a.Text, "The session has ended") {
			t.Fatalf("the session %s does not end\n%s", id, a.Text)
		}
		ended = id
		break
	}
	if !strings.Contains(c.Log(), "ended="+ended) {
		t.Error("the log does not say which session has ended")
	}
	left := 0
	for _, browser := range []*alonetest.Browser{b, other} {
		if browser.Get("/console").Status == http.StatusOK {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d sessions are left of two", left)
	}
}

// TestAccounts searches accounts.
func TestAccounts(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	b := c.Operator()
	b.Shows("/console/accounts", "There are no accounts yet")
	ada, eve := c.Writer.Account().String(), c.Writer.Account().String()
	c.Await()
	b.Shows("/console/accounts?offset=x", ada, eve)
	if a := b.Shows("/console/accounts?search="+ada, ada); strings.Contains(a.Text, eve) {
		t.Errorf("a search shows another account\n%s", a.Text)
	}
	b.Shows("/console/accounts?search=nobody", "No account matches")
}
