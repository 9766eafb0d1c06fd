package httpapi

import (
	"bytes"
	"errors"
	"html"
	"io/fs"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console"
	"linkledger/httpapi/openid/openidtest"
)

// post sends a form as a page of the console does.
func (b *browser) post(path string, fields url.Values) *answer {
	b.t.Helper()
	return b.call("POST", path, fields.Encode(), header("Content-Type", "application/x-www-form-urlencoded"),
		header("Sec-Fetch-Site", "same-origin"), header("Origin", "http://"+shortHost))
}

// upload sends a file to the page that checks proofs.
func (b *browser) upload(file string) *answer {
	b.t.Helper()
	var body strings.Builder
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "a.proof")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err := errors.Join(err, form.Close()); err != nil {
		b.t.Fatal(err)
	}
	return b.follow(b.call("POST", "/console/proofs", body.String(), header("Content-Type", form.FormDataContentType()),
		header("Sec-Fetch-Site", "same-origin"), header("Origin", "http://"+shortHost)))
}

// leads sends a form and checks where it leads.
func (b *browser) leads(path string, fields url.Values, want string) {
	b.t.Helper()
	a := b.post(path, fields)
	if to := a.leadsTo(); a.status != http.StatusSeeOther || to != want {
		b.t.Fatalf("%s answers %d, leads to %q; want %q\n%s", path, a.status, to, want, a.body)
	}
	if !answerName.MatchString(a.header.Get("Location")) {
		return
	}
	if shown := b.follow(a); strings.Contains(shown.body, `role="alert"`) {
		b.t.Errorf("%s is refused\n%s", path, shown.body)
	}
}

var answerName = regexp.MustCompile(`[?&]answer=[^&#]*`)

// leadsTo returns where a form leads, without the name of its answer.
func (a *answer) leadsTo() string { return answerName.ReplaceAllString(a.header.Get("Location"), "") }

// follow opens the page that a form leads to.
func (b *browser) follow(a *answer) *answer {
	b.t.Helper()
	if a.status != http.StatusSeeOther {
		b.t.Fatalf("a form answers %d\n%s", a.status, a.body)
	}
	return b.call("GET", a.header.Get("Location"), "", header("Accept", "text/html"))
}

// sends sends a form and returns the page that it leads to.
func (b *browser) sends(path string, fields url.Values) *answer {
	b.t.Helper()
	return b.follow(b.post(path, fields))
}

// refuses sends a form that is refused, and checks that the page that it leads to has all parts.
func (b *browser) refuses(path string, fields url.Values, parts ...string) *answer {
	b.t.Helper()
	a := b.sends(path, fields)
	text := textOf(a.body)
	for _, part := range append(parts, `role="alert"`) {
		if !strings.Contains(text, part) {
			b.t.Errorf("%s with %v does not show %q\n%s", path, fields, part, a.body)
		}
	}
	return a
}

// makes makes the links of a paste, after it has seen what they are.
func (b *browser) makes(lines string) *answer {
	b.t.Helper()
	seen := b.sends("/console/new", url.Values{"lines": {lines}})
	previewed := regexp.MustCompile(`name="previewed" value="([0-9a-f]{16})"`).FindStringSubmatch(seen.body)
	if previewed == nil {
		return seen
	}
	return b.sends("/console/new", url.Values{"lines": {lines}, "previewed": {previewed[1]}})
}

var numberElement = regexp.MustCompile(`</?data[^>]*>`)

// textOf returns a page without escapes and the elements of numbers.
func textOf(body string) string { return html.UnescapeString(numberElement.ReplaceAllString(body, "")) }

// shows opens a page and checks that its text has all parts.
func (b *browser) shows(path string, parts ...string) string {
	b.t.Helper()
	a := b.call("GET", path, "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		b.t.Fatalf("%s answers %d %v\n%s", path, a.status, a.header, a.body)
	}
	text := textOf(a.body)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.t.Errorf("%s does not show %q\n%s", path, part, a.body)
		}
	}
	return a.body
}

// TestConsole is what a newcomer does, from the sign-in to the sign-out, without JavaScript.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	b := s.browser(t)
	if a := b.call("GET", "/console", ""); a.header.Get("Location") != "/console/sign-in?return=%2Fconsole" {
		t.Fatalf("/console leads to %q", a.header.Get("Location"))
	}
	b.shows("/console/sign-in?return=/console/keys", "Sign in with your organisation", "/console/openid?return=%2Fconsole%2Fkeys")
	wrong := b.refuses("/console/sign-in", url.Values{
		"username": {"acme"}, "key": {"wrong"}, "return": {"/console/keys"}, "ended": {"1"},
	}, `value="acme"`, `name="return" value="/console/keys"`, "Your session has ended")
	if strings.Contains(wrong.body, "wrong\"") {
		t.Errorf("a wrong key is shown\n%s", wrong.body)
	}
	b.leads("/console/sign-in", url.Values{
		"username": {"\u00a0acme "}, "key": {"\ufeff" + owner.key + "\u200b\r\n"}, "return": {"//evil.example"},
	}, "/console")
	b.shows("/console/links", "There are no links yet", "/v3/urls?limit=50")

	b.leads("/console/links", url.Values{
		"long_url": {"https://example.com/"}, "custom_hash": {"first"}, "tags": {"news, spring"}, "note": {"a note"},
		"expiration_date": {"2026-11-30"},
	}, "/console/links/first")
	equal(t, "last day", *owner.read("first").ExpirationDate, "2026-11-30")
	owner.must("PATCH", "/v3/urls/first", `{"urls":[{"expiration_date":null}]}`)
	b.refuses("/console/links", url.Values{
		"long_url": {"https://example.org/"}, "custom_hash": {"first"}, "note": {"kept"},
	}, `value="https://example.org/"`, `value="kept"`)
	s.visit(t, "GET", "/first")
	b.shows("/console/links", "https://example.com/", "news", "?tags=%2B%22news%22", "first", `data-copy="http://sho.rt/first"`)
	b.shows("/console/links?tags=%2Bspring&order_by=clicks", "first")
	b.shows("/console/links?search=nothing", "No link matches")
	if a := b.call("GET", "/console/links?tags=%2Bnews%26", ""); a.status != http.StatusBadRequest || !strings.Contains(a.body, `role="alert"`) {
		t.Errorf("a wrong expression answers %d", a.status)
	}
	b.shows("/console/links/first", "Clicks by day", "<rect", "2026-05-14", "created", "key ")
	b.shows("/console/links/first?from=2026-05-14&to=2026-05-14", "Clicks by visitor, 2026-05-14", "All days")

	edit := url.Values{
		"long_url": {"https://example.com/other"}, "custom_hash": {"second"}, "tags_before": {"news, spring"},
		"tags": {"spring, new"}, "note": {"changed"}, "max_clicks": {"10"}, "protected": {"1"}, "expiration_date": {"2026-12-31"},
	}
	b.leads("/console/links/first", edit, "/console/links/second")
	link := owner.read("second")
	if *link.LongURL != "https://example.com/other" || link.Note != "changed" || link.MaxClicks != 10 || !link.Protected ||
		*link.ExpirationDate != "2026-12-31" || strings.Join(link.Tags, " ") != "spring new" {
		t.Errorf("edited to %+v", link)
	}
	edit.Set("long_url", "nonsense")
	b.refuses("/console/links/second", edit, `value="nonsense"`)
	batch := owner.must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	b.leads("/console/links/second/undo", url.Values{"batch": {batch}}, "/console/links/second")
	if link := owner.read("first"); *link.LongURL != "https://example.com/" || link.Protected {
		t.Errorf("undone to %+v", link)
	}
	// A form that was open for long takes back nothing that was changed meanwhile.
	owner.must("PATCH", "/v3/urls/first", `{"urls":[{"long_url":"https://example.com/new","max_clicks":10,"ping":true,"tags":["+new"]}]}`)
	b.leads("/console/links/first", url.Values{
		"long_url": {"https://example.com/"}, "long_url_before": {"https://example.com/"}, "note": {"later"},
		"note_before": {"a note"}, "max_clicks": {"0"}, "max_clicks_before": {"0"}, "custom_hash": {"first"},
		"custom_hash_before": {"first"}, "tags": {"news, spring"}, "tags_before": {"news, spring"}, "ping_before": {""},
	}, "/console/links/first")
	if link := owner.read("first"); *link.LongURL != "https://example.com/new" || link.Note != "later" || !link.Ping ||
		link.MaxClicks != 10 || strings.Join(link.Tags, " ") != "news spring new" {
		t.Errorf("an old form edited to %+v", link)
	}
	calls := owner.must("GET", "/v3/activity?limit=1", "").Page.TotalCount
	b.leads("/console/links/first", url.Values{"note": {"x"}, "note_before": {"x"}}, "/console/links/first")
	equal(t, "calls after a save without a change", owner.must("GET", "/v3/activity?limit=1", "").Page.TotalCount, calls)
	b.leads("/console/links/first/delete", nil, "/console/links/first")
	b.shows("/console/links/first", "This link was deleted on", "Restore it")
	b.leads("/console/links/first/restore", nil, "/console/links/first")
	owner.read("first")
	if a := b.call("GET", "/console/links/none", ""); a.status != http.StatusNotFound {
		t.Errorf("a link that never was answers %d", a.status)
	}

	file := b.call("GET", "/console/links/first/proof", "")
	if file.header.Get("Content-Disposition") != `attachment; filename="first.proof"` || !strings.Contains(file.body, "checkpoint") {
		t.Errorf("the proof is %v\n%s", file.header, file.body)
	}
	if checked := b.upload(file.body); !strings.Contains(checked.body, "The proof holds") ||
		!strings.Contains(checked.body, "The log still begins with") || !strings.Contains(html.UnescapeString(checked.body), "settings changed") ||
		!strings.Contains(html.UnescapeString(checked.body), `curl -u "$ACCOUNT:$API_KEY" -F 'file=<FILE' 'http://sho.rt/v3/proofs'`) {
		t.Errorf("the check shows\n%s", checked.body)
	}
	if checked := b.upload(file.body[1:]); !strings.Contains(checked.body, "This proves nothing") {
		t.Errorf("the check of a wrong file shows\n%s", checked.body)
	}
	b.shows("/console/proofs", "Head of the log", "sho.rt")

	b.shows("/console/activity", "1 created", "1 deleted", "Undo")
	last := owner.must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	b.leads("/console/activity/undo", url.Values{"batch": {last}}, "/console/activity")
	b.shows("/console/activity?via=console", "undone")

	added := b.sends("/console/keys", url.Values{"name": {"reader"}, "scopes": {"links:read"}, "networks": {"192.0.2.0/24"}})
	secret := regexp.MustCompile(`lk_[A-Za-z0-9_-]{43}`).FindString(added.body)
	if added.status != http.StatusOK || secret == "" {
		t.Fatalf("a new key answers %d\n%s", added.status, added.body)
	}
	if body := b.shows("/console/keys", "reader", "192.0.2.0/24"); strings.Contains(body, secret) {
		t.Error("the key is shown twice")
	}
	b.leads("/console/keys/"+owner.keyNamed("reader").ID+"/revoke", nil, "/console/keys")
	b.shows("/console/account", "acme", "Links made this month", "this one")
	b.leads("/console/sign-out", nil, "/console/sign-in")
	b.ended()
}

// TestConsoleChangesMany makes many links, changes some and all that match, and undoes it.
func TestConsoleChangesMany(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	b := s.browser(t)
	b.signInBy(owner)
	b.shows("/console/new", "destination, hash, tags, note")
	made := b.makes("long_url,custom_hash,tags,note\n" +
		`https://example.com/1, one, news; spring sale, "a, note"` + "\nhttps://example.com/2, two, news\n\n" +
		"nonsense, three\nhttps://example.com/4,one\n" + strings.Repeat("https://example.com/more,,bulk\n", 60))
	if made.status != http.StatusOK || !strings.Contains(made.body, "62 links are made. 2 of 64 lines were refused") ||
		!strings.Contains(made.body, ">\nlong_url,custom_hash,tags,note\nnonsense, three\nhttps://example.com/4,one</textarea>") {
		t.Fatalf("many lines answer %d\n%s", made.status, made.body)
	}
	if link := owner.read("one"); link.Note != "a, note" || strings.Join(link.Tags, " ") != "news spring sale" {
		t.Errorf("made %+v", link)
	}
	for _, lines := range []string{"", " \n", strings.Repeat("https://example.com/\n", 1001)} {
		b.refuses("/console/new", url.Values{"lines": {lines}})
	}
	b.shows("/console/links?tags=%2Bbulk", "Change all 60 that match")
	b.leads("/console/change", url.Values{"hash": {"one", "two"}, "change": {"tags"}, "change_tags": {"new, -news"}}, "/console/links")
	b.leads("/console/change", url.Values{"hash": {"one"}, "change": {"protect"}}, "/console/links")
	if link := owner.read("one"); !link.Protected || strings.Join(link.Tags, " ") != "spring sale new" {
		t.Errorf("changed to %+v", link)
	}
	b.leads("/console/change", url.Values{"all": {"1"}, "tags": {"+bulk"}, "hash": {"one"}, "change": {"delete"}}, "/console/links")
	if n := owner.must("GET", "/v3/urls", "").Page.TotalCount; n != 2 {
		t.Errorf("%d links are left, want 2", n)
	}
	last := owner.must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	b.leads("/console/activity/undo", url.Values{"batch": {last}}, "/console/activity")
	if n := owner.must("GET", "/v3/urls", "").Page.TotalCount; n != 62 {
		t.Errorf("%d links after the undo, want 62", n)
	}
	for _, fields := range []url.Values{
		nil,
		{"hash": {"one"}},
		{"change": {"delete"}},
		{"hash": {"one"}, "change": {"tags"}},
		{"all": {"1"}, "change": {"delete"}},
		{"all": {"1"}, "tags": {"+("}, "change": {"delete"}},
	} {
		b.refuses("/console/change", fields)
	}
}

// TestConsoleTagsAndMembers changes tags and members.
func TestConsoleTagsAndMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one","tags":["a b","x","R&D, c++"]`)
	b := s.browser(t)
	b.signInBy(owner)
	b.shows("/console/tags", `href="/console/links?tags=%2B%22a+b%22"`, `action="/console/tags/a%20b/rename"`)
	b.leads("/console/tags/a%20b/rename", url.Values{"label": {"c d"}}, "/console/tags")
	b.leads("/console/tags", url.Values{"label": {"new"}}, "/console/tags")
	b.leads("/console/tags/x/delete", nil, "/console/tags")
	// The form of the link keeps a label with a comma together.
	b.shows("/console/links/one", `value="c d, "R&D, c++""`)
	before := `c d, "R&D, c++"`
	b.leads("/console/links/one", url.Values{
		"tags": {before + `, "e; f"`}, "tags_before": {before},
	}, "/console/links/one")
	if tags := owner.read("one").Tags; !slices.Equal(tags, []string{"c d", "R&D, c++", "e; f"}) {
		t.Errorf("the link has the tags %q", tags)
	}
	b.shows("/console/links?tags="+url.QueryEscape(`+"R&D, c++"`), "/console/links/one")
	b.shows("/console/tags", "c d", "new")
	for path, fields := range map[string]url.Values{
		"/console/tags": {"label": {""}}, "/console/tags/new/rename": {"label": {"c d"}}, "/console/tags/none/delete": nil,
		"/console/members": {"id": {"nobody"}, "role": {"viewer"}},
	} {
		b.refuses(path, fields, "<nav")
	}
	_, id := s.signIn(t, openidtest.Ada)
	for _, role := range []string{"viewer", "editor"} {
		b.leads("/console/members", url.Values{"id": {id}, "role": {role}}, "/console/account")
		if members := owner.must("GET", "/v3/members", "").Members; len(members) != 1 || members[0].Role != role {
			t.Errorf("members: %+v", members)
		}
	}
	b.shows("/console/account", "Ada", "<option selected>editor")
	b.leads("/console/members/"+id+"/remove", nil, "/console/account")
	b.shows("/console/account", "No person is a member")
}

// TestConsoleFailures checks that people see failures as pages, and programs as JSON.
func TestConsoleFailures(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	b := s.browser(t)
	b.signInBy(s.client(t, "acme"))
	shows := func(path string, status int, text string) *answer {
		t.Helper()
		a := b.call("GET", path, "", header("Accept", "text/html"))
		if a.status != status || a.header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(html.UnescapeString(a.body), text) || a.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s answers %d %v\n%s", path, a.status, a.header, a.body)
		}
		if program := b.call("GET", path, ""); program.status != status || program.code() == apierror.CodeOK {
			t.Errorf("%s answers a program %d\n%s", path, program.status, program.body)
		}
		return a
	}
	shows("/console/nothing", http.StatusNotFound, "There is no such page")
	shows("/console/callback?state=x", http.StatusBadRequest, "sign in again")
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	a := shows("/console/links", http.StatusServiceUnavailable, "Request <code>")
	if a.header.Get("Retry-After") == "" {
		t.Errorf("an outage has the headers %v", a.header)
	}
}

// TestConsoleCalls checks that pages do not use up the API calls of the account, and that what they
// do is recorded as done in the console.
func TestConsoleCalls(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	b := s.browser(t)
	b.signInBy(owner)
	before := s.calls.Today(t.Context(), owner.id)
	b.leads("/console/links", url.Values{"long_url": {"https://example.com/"}, "custom_hash": {"one"}}, "/console/links/one")
	b.shows("/console/links/one", "in the console")
	equal(t, "API calls", s.calls.Today(t.Context(), owner.id), before)
}

// isFile reports whether a path is that of a file that pages load.
func isFile(path string) bool {
	return strings.HasSuffix(path, ".css") || strings.HasSuffix(path, ".js")
}

// forEverybody reports whether a page is for everybody.
func forEverybody(path string) bool {
	return strings.HasPrefix(path, console.SignInPath) || path == "/console/signed-out"
}

// onlyScript is the only script of pages.
const onlyScript = `<script src="/console/console.js" defer></script>`

// consolePaths are the addresses of all pages, by their route.
var consolePaths = strings.NewReplacer(":hash", "one", ":label", "news", ":batch", "0c9c1d2e-6a0f-4f55-9b3a-2f1c8f6f1a10", ":secret", "none", ":id", "0c9c1d2e-6a0f-4f55-9b3a-2f1c8f6f1a10")

// TestConsoleNeedsASession requests every page and action without a session, from another origin,
// and as somebody who may only read.
func TestConsoleNeedsASession(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	viewer, _ := s.member(t, owner, "viewer", "viewer")
	pages, err := console.New(console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	before := owner.must("GET", "/v3/activity?limit=1", "").Page.TotalCount
	for _, route := range pages.Routes() {
		path := consolePaths.Replace(route.Path)
		if forEverybody(path) || isFile(path) {
			continue
		}
		name := route.Method + " " + path
		a := s.browser(t).call(route.Method, path, "")
		if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/console/sign-in?return=") {
			t.Errorf("%s without a session: %d %q", name, a.status, a.header.Get("Location"))
		}
		if route.Method != http.MethodPost || strings.HasSuffix(path, "sign-out") {
			continue
		}
		foreign := viewer.call("POST", path, "", header("Origin", "https://evil.example"), header("Sec-Fetch-Site", "cross-site"))
		if foreign.status != http.StatusForbidden {
			t.Errorf("%s from another origin: %d", name, foreign.status)
		}
		fields := maps.Clone(consoleFields)
		fields.Del("account") // that of the session already
		viewer.refuses(path, fields)
	}
	equal(t, "calls that changed something", owner.must("GET", "/v3/activity?limit=1", "").Page.TotalCount, before)
	body := viewer.shows("/console/links", "one")
	body += viewer.shows("/console/links/one", "https://example.com/") + viewer.shows("/console/account", "viewer")
	for _, action := range []string{"Make a link", "Save", "Delete", "Undo", "/console/keys", "/console/activity"} {
		if strings.Contains(body, action) {
			t.Errorf("a viewer sees %q", action)
		}
	}
	if a := s.browser(t).post("/console/links/one/delete", nil); a.header.Get("Location") != "/console/sign-in?return=%2Fconsole" {
		t.Errorf("after the sign-in an action would continue at %q", a.header.Get("Location"))
	}
	stranger, id := s.signIn(t, openidtest.Ada)
	if a := stranger.call("GET", "/console", ""); a.header.Get("Location") != "/console/account" {
		t.Errorf("a stranger begins at %q", a.header.Get("Location"))
	}
	for _, path := range []string{"/console/links", "/console/links/one", "/console/keys", "/console/proofs"} {
		if a := stranger.call("GET", path, ""); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/account" {
			t.Errorf("%s leads a stranger to %d %q", path, a.status, a.header.Get("Location"))
		}
	}
	body = stranger.shows("/console/account", "member of no account", "Ask an owner", "linkledger account member set", id)
	if strings.Contains(body, "operators") {
		t.Error("a stranger is led to the console of operators")
	}
	stranger.call("GET", "/v3/urls", "").has("by your id " + id)
	for _, name := range []string{"labs", "shop"} {
		s.client(t, name).must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
	}
	stranger.shows("/console/account", "Choose one of your accounts", "labs", "shop")
	stranger.leads("/console/account", url.Values{"account": {"shop"}}, "/console/links")
	stranger.shows("/console/links", "There are no links yet")
}

// TestConsoleIsSafe checks the headers of pages, that templates have nothing that their policy
// forbids, and that no text that people type becomes markup.
func TestConsoleIsSafe(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	const script = `"><script>x`
	owner.create(`"long_url":"https://example.com/?<script>","custom_hash":"one","note":"\"><script>x","tags":["news"]`)
	for _, referrer := range []string{`https://"><script>x.example/`, `https://%22%3E%3Cscript%3Ex.example/`, script} {
		s.visit(t, "GET", "/one", header("Referer", referrer), header("User-Agent", script))
	}
	owner.must("POST", "/v3/keys", `{"name":"\"><script>x"}`)
	b, id := s.signIn(t, openidtest.Person{Subject: "mallory", Name: script, Mail: "m@example.com"})
	owner.must("PUT", "/v3/members", `{"id":"`+id+`","role":"owner"}`)
	b.must("PATCH", "/v3/session", `{"account":"acme"}`)
	for _, path := range []string{
		"/console/links", "/console/links?search=" + url.QueryEscape(script), "/console/links/one", "/console/activity",
		"/console/keys", "/console/account", "/console/tags", "/console/new", "/console/proofs", "/console/deleted", "/console/links/one?at=" + url.QueryEscape(script), "/console/links/one?from=" + url.QueryEscape(script), "/console/sign-in?return=" + url.QueryEscape(script), "/console/links/none",
		"/console/links?tags=" + url.QueryEscape(script), "/console/links?at=" + url.QueryEscape(script),
	} {
		a := b.call("GET", path, "", header("Accept", "text/html"))
		policy := a.header.Get("Content-Security-Policy")
		if strings.Contains(strings.Replace(a.body, onlyScript, "", 1), "<script") || len(a.body) > 60_000 || a.header.Get("Cache-Control") != "no-store" ||
			!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has %d bytes, %v\n%.3000s", path, len(a.body), a.header, a.body)
		}
	}
	forbidden := regexp.MustCompile(`(?i)<script|\son[a-z]+=|\sstyle=|<style|javascript:|hx-on`)
	for folder, least := range map[string]int{"console": 9, "console/page": 2, "../internal/operators": 7} {
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
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/old","custom_hash":"one","note":"before","tags":["news"]`)
	before := url.QueryEscape(s.syncClock())
	owner.must("PATCH", "/v3/urls/one", `{"urls":[{"long_url":"https://example.com/new","note":"after","tags":[]}]}`)
	s.syncClock()
	b := s.browser(t)
	b.leads("/console/sign-in", url.Values{"username": {"acme"}, "key": {owner.key}}, "/console")
	b.shows("/console/links/one", "As it was at", "?at=")
	b.shows("/console/links/one?at="+before, "The link as it was at", "https://example.com/old", "before", "news", "Back to now", "/v3/urls/one?at=")
	for at, status := range map[string]int{"2020-01-01": http.StatusNotFound, "nonsense": http.StatusBadRequest, "2099-01-01": http.StatusBadRequest} {
		a := b.call("GET", "/console/links/one?at="+at, "")
		if a.status != status || !strings.Contains(a.body, "There is no link to show at") || !strings.Contains(a.body, `role="alert"`) {
			t.Errorf("at %s: %d\n%s", at, a.status, a.body)
		}
	}
}
