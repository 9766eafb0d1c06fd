package console_test

import (
	"bytes"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/console"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/pagetest"
)

// TestConsole is what a newcomer does, from the sign-in to the sign-out, without JavaScript.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	if a := b.Call("GET", "/console", ""); a.Header.Get("Location") != "/console/sign-in?return=%2Fconsole" {
		t.Fatalf("/console leads to %q", a.Header.Get("Location"))
	}
	b.Shows("/console/sign-in?return=/console/keys", "Sign in with your organisation", "/console/openid?return=%2Fconsole%2Fkeys")
	wrong := b.Refuses("/console/sign-in", url.Values{
		"username": {"acme"}, "key": {"wrong"}, "return": {"/console/keys"}, "ended": {"1"},
	}, `value="acme"`, `name="return" value="/console/keys"`, "Your session has ended")
	if strings.Contains(wrong.Body, "wrong\"") {
		t.Errorf("a wrong key is shown\n%s", wrong.Body)
	}
	b.Leads("/console/sign-in", url.Values{
		"username": {"\u00a0acme "}, "key": {"\ufeff" + owner.Key + "\u200b\r\n"}, "return": {"//evil.example"},
	}, "/console")
	b.Shows("/console/links", "There are no links yet", "/v3/urls?limit=50")

	b.Leads("/console/links", url.Values{
		"long_url": {"https://example.com/"}, "custom_hash": {"first"}, "tags": {"news, spring"}, "note": {"a note"},
		"expiration_date": {"2026-11-30"},
	}, "/console/links/first")
	httpapitest.Equal(t, "last day", *owner.Read("first").ExpirationDate, "2026-11-30")
	owner.Must("PATCH", "/v3/urls/first", `{"urls":[{"expiration_date":null}]}`)
	b.Refuses("/console/links", url.Values{
		"long_url": {"https://example.org/"}, "custom_hash": {"first"}, "note": {"kept"},
	}, `value="https://example.org/"`, `value="kept"`)
	s.Visit(t, "GET", "/first")
	b.Shows("/console/links", "https://example.com/", "news", "?tags=%2B%22news%22", "first", `data-copy="http://sho.rt/first"`)
	b.Shows("/console/links?tags=%2Bspring&order_by=clicks", "first")
	b.Shows("/console/links?search=nothing", "No link matches")
	if a := b.Call("GET", "/console/links?tags=%2Bnews%26", ""); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `role="alert"`) {
		t.Errorf("a wrong expression answers %d", a.Status)
	}
	b.Shows("/console/links/first", "Clicks by day", "<rect", "2026-05-14", "created", "key ")
	b.Shows("/console/links/first?from=2026-05-14&to=2026-05-14", "Clicks by visitor, 2026-05-14", "All days")

	edit := url.Values{
		"long_url": {"https://example.com/other"}, "custom_hash": {"second"}, "tags_before": {"news, spring"},
		"tags": {"spring, new"}, "note": {"changed"}, "max_clicks": {"10"}, "protected": {"1"}, "expiration_date": {"2026-12-31"},
	}
	b.Leads("/console/links/first", edit, "/console/links/second")
	link := owner.Read("second")
	if *link.LongURL != "https://example.com/other" || link.Note != "changed" || link.MaxClicks != 10 || !link.Protected ||
		*link.ExpirationDate != "2026-12-31" || strings.Join(link.Tags, " ") != "spring new" {
		t.Errorf("edited to %+v", link)
	}
	edit.Set("long_url", "nonsense")
	b.Refuses("/console/links/second", edit, `value="nonsense"`)
	batch := owner.Must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	b.Leads("/console/links/second/undo", url.Values{"batch": {batch}}, "/console/links/second")
	if link := owner.Read("first"); *link.LongURL != "https://example.com/" || link.Protected {
		t.Errorf("undone to %+v", link)
	}
	// A form that was open for long takes back nothing that was changed meanwhile.
	owner.Must("PATCH", "/v3/urls/first", `{"urls":[{"long_url":"https://example.com/new","max_clicks":10,"ping":true,"tags":["+new"]}]}`)
	b.Leads("/console/links/first", url.Values{
		"long_url": {"https://example.com/"}, "long_url_before": {"https://example.com/"}, "note": {"later"},
		"note_before": {"a note"}, "max_clicks": {"0"}, "max_clicks_before": {"0"}, "custom_hash": {"first"},
		"custom_hash_before": {"first"}, "tags": {"news, spring"}, "tags_before": {"news, spring"}, "ping_before": {""},
	}, "/console/links/first")
	if link := owner.Read("first"); *link.LongURL != "https://example.com/new" || link.Note != "later" || !link.Ping ||
		link.MaxClicks != 10 || strings.Join(link.Tags, " ") != "news spring new" {
		t.Errorf("an old form edited to %+v", link)
	}
	calls := owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount
	b.Leads("/console/links/first", url.Values{"note": {"x"}, "note_before": {"x"}}, "/console/links/first")
	httpapitest.Equal(t, "calls after a save without a change", owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount, calls)
	b.Leads("/console/links/first/delete", nil, "/console/links/first")
	b.Shows("/console/links/first", "This link was deleted on", "Restore it")
	b.Leads("/console/links/first/restore", nil, "/console/links/first")
	owner.Read("first")
	if a := b.Call("GET", "/console/links/none", ""); a.Status != http.StatusNotFound {
		t.Errorf("a link that never was answers %d", a.Status)
	}

	file := b.Call("GET", "/console/links/first/proof", "")
	if file.Header.Get("Content-Disposition") != `attachment; filename="first.proof"` || !strings.Contains(file.Body, "checkpoint") {
		t.Errorf("the proof is %v\n%s", file.Header, file.Body)
	}
	if checked := b.Upload(file.Body); !strings.Contains(checked.Body, "The proof holds") ||
		!strings.Contains(checked.Body, "The log still begins with") || !strings.Contains(html.UnescapeString(checked.Body), "settings changed") ||
		!strings.Contains(html.UnescapeString(checked.Body), `curl -u "$ACCOUNT:$API_KEY" -F 'file=<FILE' 'http://sho.rt/v3/proofs'`) {
		t.Errorf("the check shows\n%s", checked.Body)
	}
	if checked := b.Upload(file.Body[1:]); !strings.Contains(checked.Body, "This proves nothing") {
		t.Errorf("the check of a wrong file shows\n%s", checked.Body)
	}
	b.Shows("/console/proofs", "Head of the log", "sho.rt")

	b.Shows("/console/activity", "1 created", "1 deleted", "Undo")
	last := owner.Must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	b.Leads("/console/activity/undo", url.Values{"batch": {last}}, "/console/activity")
	b.Shows("/console/activity?via=console", "undone")

	added := b.Sends("/console/keys", url.Values{"name": {"reader"}, "scopes": {"links:read"}, "networks": {"192.0.2.0/24"}})
	secret := regexp.MustCompile(`lk_[A-Za-z0-9_-]{43}`).FindString(added.Body)
	if added.Status != http.StatusOK || secret == "" {
		t.Fatalf("a new key answers %d\n%s", added.Status, added.Body)
	}
	if body := b.Shows("/console/keys", "reader", "192.0.2.0/24"); strings.Contains(body, secret) {
		t.Error("the key is shown twice")
	}
	b.Leads("/console/keys/"+owner.KeyNamed("reader").ID+"/revoke", nil, "/console/keys")
	b.Shows("/console/account", "acme", "Links made this month", "this one")
	b.Leads("/console/sign-out", nil, "/console/sign-in")
	b.Ended()
}

// TestConsoleFailures checks that people see failures as pages, and programs as JSON.
func TestConsoleFailures(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	b := s.Browser(t)
	b.SignInBy(s.Client(t, "acme"))
	shows := func(path string, status int, text string) *httpapitest.Answer {
		t.Helper()
		a := b.Call("GET", path, "", httpapitest.Header("Accept", "text/html"))
		if a.Status != status || a.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(html.UnescapeString(a.Body), text) || a.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s answers %d %v\n%s", path, a.Status, a.Header, a.Body)
		}
		if program := b.Call("GET", path, ""); program.Status != status || program.Code() == apierror.CodeOK {
			t.Errorf("%s answers a program %d\n%s", path, program.Status, program.Body)
		}
		return a
	}
	shows("/console/nothing", http.StatusNotFound, "There is no such page")
	shows("/console/callback?state=x", http.StatusBadRequest, "sign in again")
	if err := s.DB.Close(); err != nil {
		t.Fatal(err)
	}
	a := shows("/console/links", http.StatusServiceUnavailable, "Request <code>")
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("an outage has the headers %v", a.Header)
	}
}

// forEverybody reports whether a page is for everybody.
func forEverybody(path string) bool {
	return strings.HasPrefix(path, console.SignInPath) || path == "/console/signed-out"
}

// onlyScript is the only script of pages.
const onlyScript = `<script src="/console/console.js" defer></script>`

// TestConsoleNeedsASession requests every page and action without a session, from another origin, and as a member who
// may only read.
func TestConsoleNeedsASession(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	viewer, _ := s.Member(t, owner, "viewer", "viewer")
	pages, err := console.New(console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	before := owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount
	for _, route := range pages.Routes() {
		path := pagetest.ConsolePaths.Replace(route.Path)
		if forEverybody(path) || pagetest.IsFile(path) {
			continue
		}
		name := route.Method + " " + path
		a := s.Browser(t).Call(route.Method, path, "")
		if a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/console/sign-in?return=") {
			t.Errorf("%s without a session: %d %q", name, a.Status, a.Header.Get("Location"))
		}
		if route.Method != http.MethodPost || strings.HasSuffix(path, "sign-out") {
			continue
		}
		foreign := viewer.Call("POST", path, "", httpapitest.Header("Origin", "https://evil.example"), httpapitest.Header("Sec-Fetch-Site", "cross-site"))
		if foreign.Status != http.StatusForbidden {
			t.Errorf("%s from another origin: %d", name, foreign.Status)
		}
		fields := maps.Clone(pagetest.ConsoleFields)
		fields.Del("account") // the account of the session already
		viewer.Refuses(path, fields)
	}
	httpapitest.Equal(t, "calls that changed something", owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount, before)
	body := viewer.Shows("/console/links", "one")
	body += viewer.Shows("/console/links/one", "https://example.com/") + viewer.Shows("/console/account", "viewer")
	for _, action := range []string{"Make a link", "Save", "Delete", "Undo", "/console/keys", "/console/activity"} {
		if strings.Contains(body, action) {
			t.Errorf("a viewer sees %q", action)
		}
	}
	if a := s.Browser(t).Post("/console/links/one/delete", nil); a.Header.Get("Location") != "/console/sign-in?return=%2Fconsole" {
		t.Errorf("after the sign-in an action would continue at %q", a.Header.Get("Location"))
	}
	stranger, id := s.SignIn(t, openidtest.Ada)
	if a := stranger.Call("GET", "/console", ""); a.Header.Get("Location") != "/console/account" {
		t.Errorf("a stranger begins at %q", a.Header.Get("Location"))
	}
	for _, path := range []string{"/console/links", "/console/links/one", "/console/keys", "/console/proofs"} {
		if a := stranger.Call("GET", path, ""); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/console/account" {
			t.Errorf("%s leads a stranger to %d %q", path, a.Status, a.Header.Get("Location"))
		}
	}
	body = stranger.Shows("/console/account", "member of no account", "Ask an owner", "linkledger account member set", id)
	if strings.Contains(body, "operators") {
		t.Error("a stranger is led to the console of operators")
	}
	stranger.Call("GET", "/v3/urls", "").Has("by your id " + id)
	for _, name := range []string{"labs", "shop"} {
		s.Client(t, name).Must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
	}
	stranger.Shows("/console/account", "Choose one of your accounts", "labs", "shop")
	stranger.Leads("/console/account", url.Values{"account": {"shop"}}, "/console/links")
	stranger.Shows("/console/links", "There are no links yet")
}

// TestConsoleIsSafe checks the headers of pages, that templates have nothing that their policy
// forbids, and that no text that people type becomes markup.
func TestConsoleIsSafe(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	const script = `"><script>x`
	owner.Create(`"long_url":"https://example.com/?<script>","custom_hash":"one","note":"\"><script>x","tags":["news"]`)
	for _, referrer := range []string{`https://"><script>x.example/`, `https://%22%3E%3Cscript%3Ex.example/`, script} {
		s.Visit(t, "GET", "/one", httpapitest.Header("Referer", referrer), httpapitest.Header("User-Agent", script))
	}
	owner.Must("POST", "/v3/keys", `{"name":"\"><script>x"}`)
	b, id := s.SignIn(t, openidtest.Person{Subject: "mallory", Name: script, Mail: "m@example.com"})
	owner.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"owner"}`)
	b.Must("PATCH", "/v3/session", `{"account":"acme"}`)
	for _, path := range []string{
		"/console/links", "/console/links?search=" + url.QueryEscape(script), "/console/links/one", "/console/activity",
		"/console/keys", "/console/account", "/console/tags", "/console/new", "/console/proofs", "/console/deleted", "/console/links/one?at=" + url.QueryEscape(script), "/console/links/one?from=" + url.QueryEscape(script), "/console/sign-in?return=" + url.QueryEscape(script), "/console/links/none",
		"/console/links?tags=" + url.QueryEscape(script), "/console/links?at=" + url.QueryEscape(script),
	} {
		a := b.Call("GET", path, "", httpapitest.Header("Accept", "text/html"))
		policy := a.Header.Get("Content-Security-Policy")
		if strings.Contains(strings.Replace(a.Body, onlyScript, "", 1), "<script") || len(a.Body) > 60_000 || a.Header.Get("Cache-Control") != "no-store" ||
			!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has %d bytes, %v\n%.3000s", path, len(a.Body), a.Header, a.Body)
		}
	}
	forbidden := regexp.MustCompile(`(?i)<script|\son[a-z]+=|\sstyle=|<style|javascript:|hx-on`)
	for folder, least := range map[string]int{
		".": 3, "links": 3, "paste": 1, "tags": 2, "audit": 3, "account": 2, "page/assets": 2, "../../internal/operators": 7,
	} {
		files := os.DirFS(folder + "/templates")
		names, err := fs.Glob(files, "*.html")
		if err != nil || len(names) < least {
			t.Fatal(names, err)
		}
		for _, name := range names {
			source, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			if found := forbidden.Find(bytes.Replace(source, []byte(onlyScript), nil, 1)); found != nil {
				t.Errorf("%s has %q", name, found)
			}
		}
	}
}

// TestConsoleShowsThePast opens a link as it was before an edit, and where its hash led when it led nowhere.
func TestConsoleShowsThePast(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/old","custom_hash":"one","note":"before","tags":["news"]`)
	before := url.QueryEscape(s.SyncClock())
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"long_url":"https://example.com/new","note":"after","tags":[]}]}`)
	s.SyncClock()
	b := s.Browser(t)
	b.Leads("/console/sign-in", url.Values{"username": {"acme"}, "key": {owner.Key}}, "/console")
	b.Shows("/console/links/one", "As it was at", "?at=")
	b.Shows("/console/links/one?at="+before, "The link as it was at", "https://example.com/old", "before", "news", "Back to now", "/v3/urls/one?at=")
	for at, status := range map[string]int{"2020-01-01": http.StatusNotFound, "nonsense": http.StatusBadRequest, "2099-01-01": http.StatusBadRequest} {
		a := b.Call("GET", "/console/links/one?at="+at, "")
		if a.Status != status || !strings.Contains(a.Body, "There is no link to show at") || !strings.Contains(a.Body, `role="alert"`) {
			t.Errorf("at %s: %d\n%s", at, a.Status, a.Body)
		}
	}
}
