package httpapi

import (
	"context"
	"encoding/binary"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/login"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/session"
	"linkledger/internal/operators"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// newOperators returns the console of operators of a stack, whose projections try dead letters again only when they
// begin. Its pages wait so long for the event store.
func newOperators(t *testing.T, patience time.Duration) (*stack, *operators.Handler) {
	t.Helper()
	return newOperatorsThat(t, engine.Config{RetryInterval: time.Hour}, patience)
}

func newOperatorsThat(
	t *testing.T, projecting engine.Config, patience time.Duration, adjust ...func(*operators.Config),
) (*stack, *operators.Handler) {
	t.Helper()
	s := newStackThat(t, projecting, eventstoretest.Serve(t))
	return s, s.operators(t, projecting, patience, adjust...)
}

// operators returns the console of operators of a stack.
func (s *stack) operators(
	t *testing.T, projecting engine.Config, patience time.Duration, adjust ...func(*operators.Config),
) *operators.Handler {
	t.Helper()
	clock := func() time.Time { return *s.now.Load() }
	logger := slog.New(slog.NewTextHandler(s.log, nil))
	cfg := operators.Config{
		DB: s.db, Store: s.store, Queries: queries.New(s.db),
		Sessions: &session.Sessions{
			Store: s.db.Keys, Queries: queries.New(s.db), Pseudonyms: peer.NewPseudonyms([]byte(strings.Repeat("k", 32))),
			Origins: http.NewCrossOriginProtection(), Now: clock, Logger: slog.New(slog.DiscardHandler),
			Guard: login.New(login.Config{Refused: func(string) {}, Now: clock, Logger: logger}),
		},
		Process: operators.Process{
			Version: "v1.2.3", Roles: "api", Spool: func() string {
				if projecting.MaxParked < 0 {
					return "" // there is no spool
				}
				return "7 clicks"
			},
			Settings: []operators.Setting{{Flag: "--listen", Environment: "LINKLEDGER_LISTEN", Value: "127.0.0.1:0", From: "flag"}},
		},
		Hosts: operators.Hosts{shortHost}, Patience: patience, Logger: logger,
	}
	for _, change := range adjust {
		change(&cfg)
	}
	h, err := operators.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pageBranches.watch(t, "operators", h.Templates())
	s.start(t, h.Run)
	return h
}

// operator returns a browser with the session of an operator.
func (s *stack) operator(t *testing.T, h http.Handler) *browser {
	t.Helper()
	b := &browser{t, h, make(map[string]*http.Cookie)}
	b.leads(s.operatorLink(t, accountlist.NewSession{Operator: true}), nil, "/console")
	return b
}

func (s *stack) operatorLink(t *testing.T, of accountlist.NewSession) string {
	t.Helper()
	now := *s.now.Load()
	secret, err := s.db.Keys.AddSignInLink(t.Context(), of, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return "/console/sign-in/" + secret
}

// poison appends an event that the projection of tags cannot apply and sets aside, and returns its stream.
func (s *stack) poison(t *testing.T) string {
	t.Helper()
	stream := s.poisonous(t)
	at, err := s.store.Last(t.Context(), stream)
	if err == nil {
		err = projections.Await(withTimeout(t), s.db, s.store, projections.Tags, at.Position)
	}
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// poisonous appends an event that the projection of tags cannot apply, and returns its stream.
func (s *stack) poisonous(t *testing.T) string {
	t.Helper()
	stream := events.StreamTags + uuid.NewString()
	_, err := s.store.Append(t.Context(), eventstore.Write{ // a tag that was never created
		Stream: stream, Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.TagDeleted{TagID: uuid.NewString(), At: time.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// showsSoon opens a page until it shows a text, as somebody does who waits.
func (b *browser) showsSoon(path, part string) {
	b.t.Helper()
	for ctx := withTimeout(b.t); ; {
		a := b.call("GET", path, "")
		if text := textOf(a.body); a.status == http.StatusOK && strings.Contains(text, part) {
			return
		}
		if ctx.Err() != nil {
			b.t.Fatalf("%s never shows %q\n%s", path, part, a.body)
		}
	}
}

// TestOperatorsFindAndRebuild does what an operator does: finds an event that was set aside, reads it, tries to apply
// it and discards it, rebuilds a projection and follows it to the end, verifies it, and rolls it back.
func TestOperatorsFindAndRebuild(t *testing.T) {
	t.Parallel()
	s, h := newOperators(t, testTimeout)
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one","tags":["news"]`)
	b := s.operator(t, h)
	s.awaitLevel(t, projections.Names()...)
	b.shows("/console", "Nothing needs attention", "links", "live")
	stream := s.poison(t)
	b.shows("/console", "Needs attention", "tags has set aside events of "+stream+" (1)")
	b.shows("/console/projections/tags", stream, "from 0 on", "Discard the first")
	event := "/console/streams/event?stream=" + stream + "&revision=0"
	b.shows(event, "tag.deleted.v1", "set aside: ", `"tag_id"`)
	for ctx := withTimeout(t); strings.Contains(b.shows(event), "not applied yet"); {
		if ctx.Err() != nil {
			t.Fatal("the other projections never apply the event")
		}
	}
	b.refuses("/console/projections/tags/retry", url.Values{"stream": {stream}}, stream)
	b.leads("/console/projections/tags/discard", url.Values{"stream": {stream}}, "/console/projections/tags")
	b.shows(event, "discarded by an operator")
	b.showsSoon("/console", "Nothing needs attention") // once the projection has an owner again

	b.shows("/console/projections/links/rebuild", "The projection follows about", "No build was measured yet")
	b.leads("/console/projections/links/rebuild", nil, "/console/projections/links")
	for ctx := withTimeout(t); !strings.Contains(b.shows("/console/projections/links"), `<td class="n">2</td><td>live <small>serves</small></td>`); {
		if ctx.Err() != nil {
			t.Fatal("the new generation never serves")
		}
	}
	owner.read("one")
	b.shows("/console/projections/links", "kept")
	if _, err := s.db.ExecContext(t.Context(), `UPDATE linkledger.generations
		SET created_at = built_at - interval '1 hour' WHERE name = 'links' AND generation = 2`); err != nil {
		t.Fatal(err)
	}
	b.shows("/console/projections/links/rebuild", "takes about 1 h", "as the last build did")
	b.leads("/console/projections/links/verify", nil, "/console/projections/links")
	b.showsSoon("/console/projections/links", "none differs")
	if _, err := s.db.ExecContext(t.Context(), "UPDATE links_g2.links SET note = 'x'"); err != nil {
		t.Fatal(err)
	}
	b.leads("/console/projections/links/verify", nil, "/console/projections/links")
	b.showsSoon("/console/projections/links", "1 differ")
	b.leads("/console/projections/links/rollback", nil, "/console/projections/links")
	b.shows("/console/projections/links", `<td class="n">1</td><td>live <small>serves</small></td>`)
	var measured []int // to serve again is no build
	if err := s.db.NewRaw("SELECT generation FROM linkledger.generations WHERE name = 'links' AND built_at IS NOT NULL").
		Scan(t.Context(), &measured); err != nil || !slices.Equal(measured, []int{2}) {
		t.Errorf("generations whose build was measured: %v, %v", measured, err)
	}
	b.leads("/console/projections/links/prune", nil, "/console/projections/links")
	if body := b.shows("/console/projections/links"); strings.Contains(body, "Roll back") {
		t.Error("there is a generation to roll back to")
	}
	b.leads("/console/projections/history/pause", nil, "/console/projections/history")
	b.shows("/console", "history is paused by an operator")
	b.shows("/console/projections/history", "history/resume")
	b.shows("/console/processes", "no process")
	b.leads("/console/projections/history/resume", nil, "/console/projections/history")
	b.showsSoon("/console", "Nothing needs attention")
	for _, action := range []string{"rebuild", "discard dead letters", "roll back", "prune", "pause", "resume", "verify"} {
		if len(s.log.matching("an operator acts", action)) == 0 {
			t.Errorf("the log does not say that an operator did %q", action)
		}
	}
}

// TestOperatorsSeeAStop follows a projection that has stopped, because no stream may be set aside, and a build that stops there too. The
// page shows the error beside the progress.
func TestOperatorsSeeAStop(t *testing.T) {
	t.Parallel()
	s, h := newOperatorsThat(t, engine.Config{MaxParked: -1}, testTimeout)
	b := s.operator(t, h)
	b.shows("/console/accounts", "There are no accounts yet")
	b.shows("/console/processes", "v1.2.3")
	stream := s.poisonous(t)
	b.showsSoon("/console", "tags has stopped: ")
	b.shows("/console/projections/tags", "Try again", stream)
	b.leads("/console/projections/tags/resume", nil, "/console/projections/tags")
	b.showsSoon("/console/projections/tags", "Try again")
	b.leads("/console/projections/tags/rebuild", nil, "/console/projections/tags")
	b.showsSoon("/console/projections/tags", "Generation 2 is being built")
	b.showsSoon("/console", "generation 2 of tags has stopped: ")
	b.shows("/console", "Generation 2 of", "is being built", `<p class="refused">tag.deleted.v1, event 0 of `+stream)
	b.refuses("/console/projections/tags/rebuild", nil, "an earlier build has stopped")
	if _, err := s.db.ExecContext(t.Context(), "DROP TABLE tags_g1.tags CASCADE"); err != nil {
		t.Fatal(err)
	}
	b.leads("/console/projections/tags/verify", nil, "/console/projections/tags")
	b.showsSoon("/console/projections/tags", "verify tags: ")
}

// TestOperatorsSeeOutages checks that the pages say what does not answer, and that actions fail with a reason.
func TestOperatorsSeeOutages(t *testing.T) {
	t.Parallel()
	s, h := newOperators(t, 50*time.Millisecond)
	b := s.operator(t, h)
	s.events.Stop()
	b.shows("/console", "The event store does not answer")
	b.shows("/console/projections/links", "The event store does not answer")
	b.shows("/console/processes", "The event store does not answer")
	b.shows("/console/projections/links/rebuild", "How long it takes is not known")
	if body := b.shows("/console", "unknown"); strings.Contains(body, "100 %") {
		t.Errorf("without the event store, the pages know\n%s", body)
	}
	if a := b.call("GET", "/console/streams?stream=hash-one", ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("a stream answers %d\n%s", a.status, a.body)
	}
	b.refuses("/console/projections/links/rebuild", nil)
}

// operatorPaths are the addresses of all pages, by their route.
var operatorPaths = strings.NewReplacer(":name", "links", ":secret", "none", ":id", "none")

// TestOperatorsPagesNeedAnOperator requests every page and action without a session, as the owner of an account, from
// another origin and by a host name of others.
func TestOperatorsPagesNeedAnOperator(t *testing.T) {
	t.Parallel()
	s, h := newOperators(t, testTimeout)
	owner := s.client(t, "acme")
	key := owner.must("GET", "/v3/keys", "").Keys[0].ID
	member := &browser{t, h, make(map[string]*http.Cookie)}
	member.leads(s.operatorLink(t, accountlist.NewSession{Account: uuid.MustParse(owner.id), Key: key}), nil, "/console")
	operator := s.operator(t, h)
	fields := url.Values{"stream": {"x"}}
	for _, route := range h.Routes() {
		path, name := operatorPaths.Replace(route.Path), route.Method+" "+route.Path
		if isFile(path) || strings.HasPrefix(path, "/console/sign-in") {
			continue
		}
		nobody := (&browser{t, h, make(map[string]*http.Cookie)}).call(route.Method, path, "")
		if nobody.status != http.StatusSeeOther || !strings.HasPrefix(nobody.header.Get("Location"), "/console/sign-in?") {
			t.Errorf("%s without a session: %d %q", name, nobody.status, nobody.header.Get("Location"))
		}
		var by *answer
		if route.Method == http.MethodPost {
			by = member.post(path, fields)
		} else {
			by = member.call("GET", path, "")
		}
		if by.status != http.StatusForbidden || !strings.Contains(by.body, "not that of an operator") {
			t.Errorf("%s by an owner: %d\n%s", name, by.status, by.body)
		}
		for _, host := range []string{"evil.example", "127.0.0.1.evil.example:8081", "localhost.evil.example", "", "[::1].evil", "fe80::1%evil.example"} {
			a := operator.call(route.Method, path, "", func(r *http.Request) { r.Host = host })
			if a.status != http.StatusMisdirectedRequest || strings.Contains(a.body, "links") {
				t.Errorf("%s by the host %q: %d", name, host, a.status)
			}
		}
		if route.Method != http.MethodPost {
			continue
		}
		for _, site := range []string{"cross-site", "same-site"} {
			a := operator.call("POST", path, fields.Encode(), header("Content-Type", "application/x-www-form-urlencoded"),
				header("Sec-Fetch-Site", site), header("Origin", "http://localhost:3000"))
			if a.status != http.StatusForbidden {
				t.Errorf("%s from a %s page: %d", name, site, a.status)
			}
		}
	}
	for _, host := range []string{"127.0.0.1:8081", "[::1]:8081", "LOCALHOST:8081", "localhost", "192.0.2.7", "Sho.rt:80", "::1"} {
		if !(operators.Hosts{shortHost}).Knows(host) {
			t.Errorf("the host %q is not known", host)
		}
	}
	operator.shows("/console", "Nothing needs attention") // nobody has paused anything
}

// TestOperatorsSample looks at a projection until its page has more samples than it was looked at.
func TestOperatorsSample(t *testing.T) {
	t.Parallel()
	s, h := newOperatorsThat(t, engine.Config{RetryInterval: time.Hour}, testTimeout, func(cfg *operators.Config) {
		cfg.Interval = time.Millisecond
	})
	b := s.operator(t, h)
	const path = "/console/projections/links"
	for looks := 1; strings.Count(b.shows(path, "links"), "<tr><td><time") <= looks; looks++ {
		if looks > 40 { // the page lists no more
			t.Fatal("nothing is sampled while nobody looks")
		}
	}
}

// TestOperatorsPages opens pages of streams, events and accounts, with what is wrong and too long.
func TestOperatorsPages(t *testing.T) {
	t.Parallel()
	s, h := newOperators(t, testTimeout)
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/?<script>","note":"\"><script>x","custom_hash":"one"`)
	for i := range 60 {
		owner.must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, i+1))
	}
	b := s.operator(t, h)
	b.shows("/console/streams", "A link with a generated hash lies in")
	b.shows("/console/streams?stream=none-x", "no events from there on")
	claims := b.shows("/console/streams?stream=hash-one", "hash.claimed.v1")
	_, id, _ := strings.Cut(html.UnescapeString(claims), `"url_id": "`)
	if len(id) < 36 {
		t.Fatalf("the claim names no link\n%s", claims)
	}
	stream := "/console/streams?stream=url-" + id[:36]
	first := b.shows(stream, "url.created", "from=50", "Next →")
	if strings.Contains(first, "Previous") || strings.Contains(first, "<script>x") {
		t.Errorf("the first page shows\n%s", first)
	}
	b.shows(stream+"&from=50", "← Previous", "url.")
	b.shows("/console/streams/event?stream=url-"+id[:36]+"&revision=3", "Batch", "links", "applied", "history")
	b.shows("/console/processes", "v1.2.3", "--listen", "7 clicks", "last position", "links, tags, tree")
	for name, change := range map[string]func(context.Context, domain.Request, string) (accounts.Outcome, error){
		"barred": s.accounts.Deactivate,
		"erased": accounts.New(streams.New(streams.Config{Store: s.store, Keys: s.db.Keys, Seal: true}), s.db.Keys).Erase,
	} {
		s.client(t, name)
		changed, err := change(withTimeout(t), domain.Request{Operator: true, Command: uuid.New()}, name)
		if err == nil {
			err = s.waiter.Wait(withTimeout(t), projections.Accounts, changed.Position.Commit)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.shows("/console/accounts", "acme", "active", "deactivated", "<td>erased</td>")
	b.shows("/console/accounts?search=ACME", "acme")
	b.shows("/console/accounts?search=none", "No account matches")
	b.shows("/console/accounts?offset=-1", "acme")
	if a := b.call("GET", "/console/accounts?offset=50", ""); a.header.Get("Location") != "/console/accounts" {
		t.Errorf("beyond the end of the accounts: %d %q", a.status, a.header.Get("Location"))
	}
	lost := binary.BigEndian.AppendUint64(make([]byte, 8), uint64(time.Now().Add(time.Hour).Unix()))
	if _, err := s.db.ExecContext(withTimeout(t),
		"INSERT INTO linkledger_keys.secrets (name, value) VALUES ('lost-keys', ?)", lost); err != nil {
		t.Fatal(err)
	}
	b.shows("/console/accounts", "notes of before cannot be read")
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
		a := b.call("GET", path, "", header("Accept", "text/html"))
		if a.status != status || strings.Contains(a.body, "<script>x") || len(a.body) > 60_000 {
			t.Errorf("%s answers %d\n%s", path, a.status, a.body)
		}
	}
	if a := b.refuses("/console/projections/links/discard", nil); a.status != http.StatusOK {
		t.Errorf("to discard without a stream answers %d", a.status)
	}
	if a := b.sends("/console/projections/links/discard", url.Values{"stream": {"none"}}); !strings.Contains(a.body, "has set aside no events") {
		t.Errorf("to discard what was not set aside answers %d\n%s", a.status, a.body)
	}
	if a := b.sends("/console/projections/links/rollback", nil); !strings.Contains(a.body, "no earlier generation is kept") {
		t.Errorf("a rollback without a former generation answers %d\n%s", a.status, a.body)
	}
	b.leads("/console/sign-out", nil, "/console/sign-in")
	b.shows("/console/sign-in", "linkledger console link --operator --base-url http://sho.rt")
	if a := b.call("GET", "/console", ""); a.status != http.StatusSeeOther {
		t.Errorf("after the sign-out: %d", a.status)
	}
	https := header("X-Forwarded-Proto", "https") // of the proxy before a host that is named
	if a := b.call("GET", "/console/sign-in", "", https); !strings.Contains(a.body, "--base-url https://sho.rt") {
		t.Errorf("behind a proxy the sign-in shows\n%s", a.body)
	}
	in := b.call("POST", s.operatorLink(t, accountlist.NewSession{Operator: true}), "", https)
	if cookie := in.header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-linkledger=") || !strings.Contains(cookie, "Secure") {
		t.Errorf("behind a proxy the cookie is %q", cookie)
	}
}

// TestOperatorsInABrowser follows a rebuild that a paused projection waits for, without another document, and looks at
// every page.
func TestOperatorsInABrowser(t *testing.T) {
	t.Parallel()
	browser := openBrowser(t)
	s, h := newOperators(t, testTimeout)
	server := serveBrowsers(t, h)
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	b := newTab(browser, t, server.URL)
	b.open("/console/sign-in")
	b.looksRightNow("operators-sign-in")
	b.open(s.operatorLink(t, accountlist.NewSession{Operator: true}))
	b.submit("main button")
	b.becomes("Nothing needs attention", "Live")
	stream := s.poison(t)
	b.becomes("Needs attention", stream)
	b.looksRightNow("operators-attention")
	b.submit(".notices a")
	b.has("Events that were set aside", "from 0 on")
	b.looksRightNow("operators-parked")
	b.submit("td.long a")
	b.has("tag.deleted.v1", "set aside")
	b.looksRightNow("operators-event")
	b.open("/console/projections/links")
	b.submit(".button")
	b.has("takes about")
	b.looksRightNow("operators-rebuild")
	b.submit("main form button")
	b.becomes("2\tlive serves", "Live")
	b.submit("form[action$=verify] button")
	b.becomes("none differs")
	b.looksRightNow("operators-projection")
	b.looksRight(map[string]string{
		"operators-streams": "/console/streams?stream=hash-one", "operators-streams-empty": "/console/streams",
		"operators-accounts": "/console/accounts", "operators-sessions": "/console/sessions", "operators-processes": "/console/processes",
	})
	b.quiet()
}
