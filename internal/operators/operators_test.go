package operators_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"linkledger/internal/operators/operatorstest"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
	"linkledger/internal/operators"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/queries/accountlist"
)

// TestOperatorsFindAndRebuild does what an operator does: finds an event that was set aside, reads it, tries to apply
// it and discards it, rebuilds a projection and follows it to the end, verifies it, and rolls it back.
func TestOperatorsFindAndRebuild(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["news"]`)
	b := operatorstest.SignIn(t, s, h)
	s.AwaitLevel(t, projections.Names()...)
	b.Shows("/console", "Nothing needs attention", "links", "live")
	stream := operatorstest.Poison(t, s)
	b.Shows("/console", "Needs attention", "tags has set aside events of "+stream+" (1)")
	b.Shows("/console/projections/tags", stream, "from 0 on", "Discard the first")
	event := "/console/streams/event?stream=" + stream + "&revision=0"
	b.Shows(event, "tag.deleted.v1", "set aside: ", `"tag_id"`)
	for ctx := httpapitest.WithTimeout(t); strings.Contains(b.Shows(event), "not applied yet"); {
		if ctx.Err() != nil {
			t.Fatal("the other projections never apply the event")
		}
	}
	b.Refuses("/console/projections/tags/retry", url.Values{"stream": {stream}}, stream)
	b.Leads("/console/projections/tags/discard", url.Values{"stream": {stream}}, "/console/projections/tags")
	b.Shows(event, "discarded by an operator")
	b.ShowsSoon("/console", "Nothing needs attention") // once the projection has an owner again

	b.Shows("/console/projections/links/rebuild", "The projection follows about", "No build was measured yet")
	b.Leads("/console/projections/links/rebuild", nil, "/console/projections/links")
	for ctx := httpapitest.WithTimeout(t); !strings.Contains(b.Shows("/console/projections/links"), `<td class="n">2</td><td>live <small>serves</small></td>`); {
		if ctx.Err() != nil {
			t.Fatal("the new generation never serves")
		}
	}
	owner.Read("one")
	b.Shows("/console/projections/links", "kept")
	if _, err := s.DB.ExecContext(t.Context(), `UPDATE linkledger.generations
		SET created_at = built_at - interval '1 hour' WHERE name = 'links' AND generation = 2`); err != nil {
		t.Fatal(err)
	}
	b.Shows("/console/projections/links/rebuild", "takes about 1 h", "as the last build did")
	b.Leads("/console/projections/links/verify", nil, "/console/projections/links")
	b.ShowsSoon("/console/projections/links", "none differs")
	if _, err := s.DB.ExecContext(t.Context(), "UPDATE links_g2.links SET note = 'x'"); err != nil {
		t.Fatal(err)
	}
	b.Leads("/console/projections/links/verify", nil, "/console/projections/links")
	b.ShowsSoon("/console/projections/links", "1 differ")
	b.Leads("/console/projections/links/rollback", nil, "/console/projections/links")
	b.Shows("/console/projections/links", `<td class="n">1</td><td>live <small>serves</small></td>`)
	var measured []int // to serve again is no build
	if err := s.DB.NewRaw("SELECT generation FROM linkledger.generations WHERE name = 'links' AND built_at IS NOT NULL").
		Scan(t.Context(), &measured); err != nil || !slices.Equal(measured, []int{2}) {
		t.Errorf("generations whose build was measured: %v, %v", measured, err)
	}
	b.Leads("/console/projections/links/prune", nil, "/console/projections/links")
	if body := b.Shows("/console/projections/links"); strings.Contains(body, "Roll back") {
		t.Error("there is a generation to roll back to")
	}
	b.Leads("/console/projections/history/pause", nil, "/console/projections/history")
	b.Shows("/console", "history is paused by an operator")
	b.Shows("/console/projections/history", "history/resume")
	b.Shows("/console/processes", "no process")
	b.Leads("/console/projections/history/resume", nil, "/console/projections/history")
	b.ShowsSoon("/console", "Nothing needs attention")
	for _, action := range []string{"rebuild", "discard dead letters", "roll back", "prune", "pause", "resume", "verify"} {
		if len(s.Log.Matching("an operator acts", action)) == 0 {
			t.Errorf("the log does not say that an operator did %q", action)
		}
	}
}

// TestOperatorsSeeAStop follows a projection that has stopped, because no stream may be set aside, and a build that stops there too. The
// page shows the error beside the progress.
func TestOperatorsSeeAStop(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.NewThat(t, engine.Config{MaxParked: -1}, httpapitest.Timeout)
	b := operatorstest.SignIn(t, s, h)
	b.Shows("/console/accounts", "There are no accounts yet")
	b.Shows("/console/processes", "v1.2.3")
	stream := operatorstest.Poisonous(t, s)
	b.ShowsSoon("/console", "tags has stopped: ")
	b.Shows("/console/projections/tags", "Try again", stream)
	b.Leads("/console/projections/tags/resume", nil, "/console/projections/tags")
	b.ShowsSoon("/console/projections/tags", "Try again")
	b.Leads("/console/projections/tags/rebuild", nil, "/console/projections/tags")
	b.ShowsSoon("/console/projections/tags", "Generation 2 is being built")
	b.ShowsSoon("/console", "generation 2 of tags has stopped: ")
	b.Shows("/console", "Generation 2 of", "is being built", `<p class="refused">tag.deleted.v1, event 0 of `+stream)
	b.Refuses("/console/projections/tags/rebuild", nil, "an earlier build has stopped")
	if _, err := s.DB.ExecContext(t.Context(), "DROP TABLE tags_g1.tags CASCADE"); err != nil {
		t.Fatal(err)
	}
	b.Leads("/console/projections/tags/verify", nil, "/console/projections/tags")
	b.ShowsSoon("/console/projections/tags", "verify tags: ")
}

// TestOperatorsSeeOutages checks that the pages say what does not answer, and that actions fail with a reason.
func TestOperatorsSeeOutages(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, 50*time.Millisecond)
	b := operatorstest.SignIn(t, s, h)
	s.Events.Stop()
	b.Shows("/console", "The event store does not answer")
	b.Shows("/console/projections/links", "The event store does not answer")
	b.Shows("/console/processes", "The event store does not answer")
	b.Shows("/console/projections/links/rebuild", "How long it takes is not known")
	if body := b.Shows("/console", "unknown"); strings.Contains(body, "100 %") {
		t.Errorf("without the event store, the pages know\n%s", body)
	}
	if a := b.Call("GET", "/console/streams?stream=hash-one", ""); a.Status != http.StatusServiceUnavailable {
		t.Errorf("a stream answers %d\n%s", a.Status, a.Body)
	}
	b.Refuses("/console/projections/links/rebuild", nil)
}

// TestOperatorsPagesNeedAnOperator requests every page and action without a session, as the owner of an account, from
// another origin and by a host name of others.
func TestOperatorsPagesNeedAnOperator(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	owner := s.Client(t, "acme")
	key := owner.Must("GET", "/v3/keys", "").Keys[0].ID
	member := browsertest.NewBrowser(t, h)
	member.Leads(operatorstest.Link(t, s, accountlist.NewSession{Account: uuid.MustParse(owner.ID), Key: key}), nil, "/console")
	operator := operatorstest.SignIn(t, s, h)
	fields := url.Values{"stream": {"x"}}
	for _, route := range h.Routes() {
		path, name := pagetest.OperatorPaths.Replace(route.Path), route.Method+" "+route.Path
		if pagetest.IsFile(path) || strings.HasPrefix(path, "/console/sign-in") {
			continue
		}
		nobody := browsertest.NewBrowser(t, h).Call(route.Method, path, "")
		if nobody.Status != http.StatusSeeOther || !strings.HasPrefix(nobody.Header.Get("Location"), "/console/sign-in?") {
			t.Errorf("%s without a session: %d %q", name, nobody.Status, nobody.Header.Get("Location"))
		}
		var by *httpapitest.Answer
		if route.Method == http.MethodPost {
			by = member.Post(path, fields)
		} else {
			by = member.Call("GET", path, "")
		}
		if by.Status != http.StatusForbidden || !strings.Contains(by.Body, "no session of an operator") {
			t.Errorf("%s by an owner: %d\n%s", name, by.Status, by.Body)
		}
		for _, host := range []string{"evil.example", "127.0.0.1.evil.example:8081", "localhost.evil.example", "", "[::1].evil", "fe80::1%evil.example"} {
			a := operator.Call(route.Method, path, "", func(r *http.Request) { r.Host = host })
			if a.Status != http.StatusMisdirectedRequest || strings.Contains(a.Body, "links") {
				t.Errorf("%s by the host %q: %d", name, host, a.Status)
			}
		}
		if route.Method != http.MethodPost {
			continue
		}
		for _, site := range []string{"cross-site", "same-site"} {
			a := operator.Call("POST", path, fields.Encode(), httpapitest.Header("Content-Type", "application/x-www-form-urlencoded"),
				httpapitest.Header("Sec-Fetch-Site", site), httpapitest.Header("Origin", "http://localhost:3000"))
			if a.Status != http.StatusForbidden {
				t.Errorf("%s from a %s page: %d", name, site, a.Status)
			}
		}
	}
	operator.Shows("/console", "Nothing needs attention") // no projection is paused
}

// TestOperatorsSample looks at a projection until its page has more samples than it was looked at.
func TestOperatorsSample(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.NewThat(t, engine.Config{RetryInterval: time.Hour}, httpapitest.Timeout, func(cfg *operators.Config) {
		cfg.Interval = time.Millisecond
	})
	b := operatorstest.SignIn(t, s, h)
	const path = "/console/projections/links"
	for looks := 1; strings.Count(b.Shows(path, "links"), "<tr><td><time") <= looks; looks++ {
		if looks > 40 { // the page lists no more
			t.Fatal("nothing is sampled while nobody looks")
		}
	}
}

// TestOperatorsPages opens pages of streams, events and accounts, with what is wrong and too long.
func TestOperatorsPages(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/?<script>","note":"\"><script>x","custom_hash":"one"`)
	for i := range 60 {
		owner.Must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, i+1))
	}
	b := operatorstest.SignIn(t, s, h)
	b.Shows("/console/streams", "a link with a generated hash are in the stream")
	b.Shows("/console/streams?stream=none-x", "no events from there on")
	claims := b.Shows("/console/streams?stream=hash-one", "hash.claimed.v1")
	_, id, _ := strings.Cut(html.UnescapeString(claims), `"url_id": "`)
	if len(id) < 36 {
		t.Fatalf("the claim names no link\n%s", claims)
	}
	stream := "/console/streams?stream=url-" + id[:36]
	first := b.Shows(stream, "url.created", "from=50", "Next →")
	if strings.Contains(first, "Previous") || strings.Contains(first, "<script>x") {
		t.Errorf("the first page shows\n%s", first)
	}
	b.Shows(stream+"&from=50", "← Previous", "url.")
	b.Shows("/console/streams/event?stream=url-"+id[:36]+"&revision=3", "Batch", "links", "applied", "history")
	b.Shows("/console/processes", "v1.2.3", "--listen", "7 clicks", "last position", "links, tags, tree")
	for name, change := range map[string]func(context.Context, domain.Request, string) (accounts.Outcome, error){
		"barred": s.Accounts.Deactivate,
		"erased": accounts.New(streams.New(streams.Config{Store: s.Store, Keys: s.DB.Keys, Seal: true}), s.DB.Keys).Erase,
	} {
		s.Client(t, name)
		changed, err := change(httpapitest.WithTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, name)
		if err == nil {
			err = s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, changed.Position.Commit)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.Shows("/console/accounts", "acme", "active", "deactivated", "<td>erased</td>")
	b.Shows("/console/accounts?search=ACME", "acme")
	b.Shows("/console/accounts?search=none", "No account matches")
	b.Shows("/console/accounts?offset=-1", "acme")
	if a := b.Call("GET", "/console/accounts?offset=50", ""); a.Header.Get("Location") != "/console/accounts" {
		t.Errorf("beyond the end of the accounts: %d %q", a.Status, a.Header.Get("Location"))
	}
	lost := binary.BigEndian.AppendUint64(make([]byte, 8), uint64(time.Now().Add(time.Hour).Unix()))
	if _, err := s.DB.ExecContext(httpapitest.WithTimeout(t),
		"INSERT INTO linkledger_durable.secrets (name, value) VALUES ('lost-keys', ?)", lost); err != nil {
		t.Fatal(err)
	}
	b.Shows("/console/accounts", "old notes cannot be read")
	for path, status := range map[string]int{
		"/console/streams?stream=%24all": http.StatusBadRequest, "/console/streams?stream=x&from=-1": http.StatusBadRequest,
		"/console/streams?stream=" + strings.Repeat("x", 600): http.StatusBadRequest,
		"/console/streams/event?stream=hash-one&revision=99":  http.StatusNotFound,
		"/console/streams/event?stream=&revision=0":           http.StatusBadRequest, "/console/streams?stream=%ff": http.StatusBadRequest,
		"/console/streams/event?stream=none&revision=0":              http.StatusNotFound,
		"/console/projections/none":                                  http.StatusNotFound,
		"/console/projections/links/none":                            http.StatusNotFound,
		"/console/projections/none/rebuild":                          http.StatusNotFound,
		"/console/nothing":                                           http.StatusNotFound,
		"/console/streams?stream=" + url.QueryEscape(`"><script>x`):  http.StatusOK,
		"/console/accounts?search=" + url.QueryEscape(`"><script>x`): http.StatusOK,
		"/console/projections/" + url.PathEscape(`"><script>x`):      http.StatusNotFound,
	} {
		a := b.Call("GET", path, "", httpapitest.Header("Accept", "text/html"))
		if a.Status != status || strings.Contains(a.Body, "<script>x") || len(a.Body) > 60_000 {
			t.Errorf("%s answers %d\n%s", path, a.Status, a.Body)
		}
	}
	if a := b.Refuses("/console/projections/links/discard", nil); a.Status != http.StatusOK {
		t.Errorf("to discard without a stream answers %d", a.Status)
	}
	if a := b.Sends("/console/projections/links/discard", url.Values{"stream": {"none"}}); !strings.Contains(a.Body, "has set aside no events") {
		t.Errorf("to discard what was not set aside answers %d\n%s", a.Status, a.Body)
	}
	if a := b.Sends("/console/projections/links/rollback", nil); !strings.Contains(a.Body, "no earlier generation is kept") {
		t.Errorf("a rollback without a former generation answers %d\n%s", a.Status, a.Body)
	}
	b.Leads("/console/sign-out", nil, "/console/sign-in")
	b.Shows("/console/sign-in", "linkledger console link --operator --base-url http://sho.rt")
	if a := b.Call("GET", "/console", ""); a.Status != http.StatusSeeOther {
		t.Errorf("after the sign-out: %d", a.Status)
	}
	https := httpapitest.Header("X-Forwarded-Proto", "https") // of the proxy before a host that is named
	if a := b.Call("GET", "/console/sign-in", "", https); !strings.Contains(a.Body, "--base-url https://sho.rt") {
		t.Errorf("behind a proxy the sign-in shows\n%s", a.Body)
	}
	in := b.Call("POST", operatorstest.Link(t, s, accountlist.NewSession{Operator: true}), "", https)
	if cookie := in.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-linkledger=") || !strings.Contains(cookie, "Secure") {
		t.Errorf("behind a proxy the cookie is %q", cookie)
	}
}

// TestOperatorsInABrowser follows a rebuild that a paused projection waits for, without another document, and looks at
// every page.
func TestOperatorsInABrowser(t *testing.T) {
	t.Parallel()
	browser := pagetest.Chromium(t)
	s, h := operatorstest.New(t, httpapitest.Timeout)
	server := pagetest.Serve(t, h)
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	b := pagetest.NewTab(browser, t, server.URL)
	b.Open("/console/sign-in")
	b.LooksRightNow("operators-sign-in")
	b.Open(operatorstest.Link(t, s, accountlist.NewSession{Operator: true}))
	b.Submit("main button")
	b.Becomes("Nothing needs attention", "Live")
	stream := operatorstest.Poison(t, s)
	b.Becomes("Needs attention", stream)
	b.LooksRightNow("operators-attention")
	b.Submit(".notices a")
	b.Has("Events that were set aside", "from 0 on")
	b.LooksRightNow("operators-parked")
	b.Submit("td.long a")
	b.Has("tag.deleted.v1", "set aside")
	b.LooksRightNow("operators-event")
	b.Open("/console/projections/links")
	b.Submit(".button")
	b.Has("takes about")
	b.LooksRightNow("operators-rebuild")
	b.Submit("main form button")
	b.Becomes("2\tlive serves", "Live")
	b.Submit("form[action$=verify] button")
	b.Becomes("none differs")
	b.LooksRightNow("operators-projection")
	b.LooksRight(map[string]string{
		"operators-streams": "/console/streams?stream=hash-one", "operators-streams-empty": "/console/streams",
		"operators-accounts": "/console/accounts", "operators-sessions": "/console/sessions", "operators-processes": "/console/processes",
	})
	b.Quiet()
}
