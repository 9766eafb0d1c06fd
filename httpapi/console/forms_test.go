package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"linkledger/internal/operators/operatorstest"

	"linkledger/httpapi/console"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
	"linkledger/projections/engine"
)

// consoleForm is a form of the console that is ready to be sent.
type consoleForm struct {
	path    string
	browser *httpapitest.Browser
	fields  url.Values
}

// consoleForms returns the form of each action, each about a link of its own and in a session of its own.
func consoleForms(t *testing.T, s *httpapitest.Site, owner *httpapitest.Client) (forms []consoleForm) {
	t.Helper()
	pages, err := console.New(console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, route := range pages.Routes() {
		if route.Method != http.MethodPost || forEverybody(route.Path) {
			continue
		}
		name := fmt.Sprintf("one%d", i)
		owner.Create(`"long_url":"https://example.com/","custom_hash":"` + name + `"`)
		b := s.Browser(t)
		b.SignInBy(owner)
		fields := pagetest.HiddenFields(t, b.Shows("/console/links"))
		maps.Copy(fields, maps.Clone(pagetest.ConsoleFields))
		fields.Set("hash", name)
		forms = append(forms, consoleForm{pagetest.ConsolePaths.Replace(strings.ReplaceAll(route.Path, ":hash", name)), b, fields})
	}
	return forms
}

// typed returns what the page that follows shows of what was typed.
func (f consoleForm) typed() string {
	if f.path == "/console/change" { // its form is on the page
		return `<option value="archive" selected>`
	}
	return f.fields.Get("long_url")
}

// TestEveryFormIsDoneOnce sends the form of each action twice at once and again, opens the page that it leads to twice,
// and sends it after the session has ended: it is done once, the page can be opened, and what was typed comes back.
func TestEveryFormIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	calls := func() int64 { return owner.Must("GET", "/v3/activity?limit=1", "").Page.TotalCount }
	for _, f := range consoleForms(t, s, owner) {
		path, b, fields := f.path, f.browser, f.fields
		before := calls()
		a := pagetest.Twice(b, path, fields)
		if again := b.Copy().Post(path, fields); again.Header.Get("Location") != a.Header.Get("Location") &&
			!strings.HasSuffix(path, "sign-out") {
			t.Errorf("%s, sent again, leads to %q in place of %q", path, again.Header.Get("Location"), a.Header.Get("Location"))
		}
		if done := calls() - before; done > 1 {
			t.Errorf("%s was done %d times", path, done)
		}
		for range 2 {
			if shown := b.Follow(a); shown.Status >= http.StatusInternalServerError || shown.Status == http.StatusMethodNotAllowed {
				t.Errorf("%s leads to a page that answers %d\n%s", path, shown.Status, shown.Body)
			}
		}

		b.SignInBy(owner)
		fields = pagetest.HiddenFields(t, b.Shows("/console/links?order_by=hash"))
		maps.Copy(fields, maps.Clone(pagetest.ConsoleFields))
		fields.Set("long_url", "https://example.com/typed")
		f.fields = fields
		ended := b.Copy()
		b.Must("DELETE", "/v3/session", "")
		before = calls()
		a = ended.Post(path, fields)
		to, err := url.Parse(a.Header.Get("Location"))
		back := to.Query().Get("return")
		if err != nil || a.Status != http.StatusSeeOther || to.Path != "/console/sign-in" || to.Query().Get("ended") == "" ||
			!strings.HasPrefix(back, "/console/links?order_by=hash&answer=") {
			t.Fatalf("%s without a session leads to %q", path, a.Header.Get("Location"))
		}
		if calls() != before {
			t.Errorf("%s is done without a session", path)
		}
		other := s.Browser(t) // somebody else who finds the address
		other.SignInBy(owner.WithKey(`"name":"other"`))
		if shown := other.Call("GET", back, ""); strings.Contains(shown.Body, "https://example.com/typed") {
			t.Errorf("what was typed for %s is shown to others", path)
		}
		in := ended.Post("/console/sign-in", url.Values{"username": {"acme"}, "key": {owner.Key}, "return": {back}})
		httpapitest.Equal(t, "page after the sign-in", in.Header.Get("Location"), back)
		if shown := ended.Follow(in); !strings.Contains(shown.Body, f.typed()) ||
			!strings.Contains(shown.Body, "What you typed is still here") {
			t.Errorf("what was typed for %s does not come back\n%s", path, shown.Body)
		}
	}
}

// TestNewKeyIsShownForAWhile makes a key, and opens its page again: it shows the same key for ten minutes, to its maker
// alone.
func TestNewKeyIsShownForAWhile(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	fields := pagetest.HiddenFields(t, b.Shows("/console/keys"))
	fields.Set("name", "reader")
	a := pagetest.Twice(b, "/console/keys", fields)
	secret := regexp.MustCompile(`lk_[A-Za-z0-9_-]{43}`)
	made := secret.FindString(b.Follow(a).Body)
	if made == "" || secret.FindString(b.Follow(a).Body) != made {
		t.Errorf("the page of the new key shows %q first", made)
	}
	httpapitest.Equal(t, "keys", len(owner.Must("GET", "/v3/keys", "").Keys), 2)
	other := s.Browser(t)
	other.SignInBy(owner.WithKey(`"name":"other"`))
	if secret.MatchString(other.Follow(a).Body) {
		t.Error("somebody else sees the key")
	}
	s.SetTime(t, s.Now().Add(10*time.Minute).Format(time.RFC3339))
	if secret.MatchString(b.Follow(a).Body) {
		t.Error("the key is shown for longer")
	}
}

// TestTypedTextStaysInThePage sends a form that is too long, and one while the database is away: the page that answers
// has what was typed, and sends it again.
func TestTypedTextStaysInThePage(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	b := s.Browser(t)
	b.SignInBy(s.Client(t, "acme"))
	fields := pagetest.HiddenFields(t, b.Shows("/console/new"))
	fields.Set("lines", strings.Repeat("https://example.com/long\n", 50_000))
	if a := b.Post("/console/new", fields); a.Status < 400 || strings.Count(a.Body, "https://example.com/long") != 50_000 {
		t.Errorf("a long paste answers %d with %d bytes", a.Status, len(a.Body))
	}
	fields.Set("lines", "https://example.com/1\nhttps://example.com/2")
	if err := s.DB.Close(); err != nil {
		t.Fatal(err)
	}
	a := b.Post("/console/new", fields)
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "Send it again") ||
		!strings.Contains(a.Body, "https://example.com/1\nhttps://example.com/2</textarea>") ||
		!strings.Contains(a.Body, `name="request" value="`+fields.Get("request")) {
		t.Errorf("without the database a form answers %d\n%s", a.Status, a.Body)
	}
}

// TestSecondTabChooses saves a field in two tabs: the second is shown what the first saved, and replaces it by saving
// again.
func TestSecondTabChooses(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one","note":"before"`)
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Shows("/console/links/one")
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"first"}]}`)
	edit := url.Values{"note": {"second"}, "note_before": {"before"}}
	b.Refuses("/console/links/one", edit, "saved meanwhile: first", `name="note" data-most="25" value="second"`,
		`name="note_before" value="first"`)
	httpapitest.Equal(t, "the note", owner.Read("one").Note, "first")
	edit.Set("note_before", "first")
	if a := b.Sends("/console/links/one", edit); !strings.Contains(a.Body, "Saved: note") {
		t.Errorf("a save shows\n%s", a.Body)
	}
	httpapitest.Equal(t, "the note", owner.Read("one").Note, "second")
	if a := b.Sends("/console/links/one", url.Values{"note": {"x "}, "note_before": {"x"}}); !strings.Contains(a.Body, "nothing to save") {
		t.Errorf("a save of nothing shows\n%s", a.Body)
	}
	b.Refuses("/console/links/one", url.Values{"note": {strings.Repeat("é", 26)}}, "26 characters, and at most 25")
	if a := b.Sends("/console/links/one", url.Values{"note": {strings.Repeat("😀", 25)}}); !strings.Contains(a.Body, "Saved: note") {
		t.Errorf("a note of 25 characters is refused\n%s", a.Body)
	}
	owner.Create(`"long_url":"https://example.com/","custom_hash":"two"`)
	b.Refuses("/console/links/one", url.Values{"custom_hash": {"two"}, "custom_hash_before": {"one"}}, "<details open>", `required spellcheck="false" autocapitalize="none" value="two"`)
	b.Refuses("/console/links/one", url.Values{"tags": {"good, a\u202eb, x\u200by"}}, "2 tags are refused")
}

// TestUndoNamesWhatItTakesBack undoes calls whose fields were changed since, that changed several links, and that were
// made in parts.
func TestUndoNamesWhatItTakesBack(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one","note":"before"`)
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Leads("/console/links/one", url.Values{
		"note": {"new"}, "max_clicks": {"7"}, "tags": {"red"}, "note_before": {"before"}, "max_clicks_before": {"0"},
	}, "/console/links/one")
	page := b.Shows("/console/links/one", "Undo: ", "note", "most clicks", "Undo: delete the link")
	httpapitest.Equal(t, "buttons of undos", strings.Count(page, `action="/console/links/one/undo"`), 2)
	batch := owner.Must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"later"}]}`)
	refused := b.Refuses("/console/links/one/undo", url.Values{"batch": {batch}}, "changed since: note", "Undo the rest")
	rest := pagetest.HiddenFields(t, refused.Body)
	rest.Set("batch", batch)
	rest.Set("changed", "skip")
	b.Leads("/console/activity/undo", rest, "/console/links/one")
	if link := owner.Read("one"); link.Note != "later" || link.MaxClicks != 0 || len(link.Tags) != 0 {
		t.Errorf("the rest was undone to %+v", link)
	}
	owner.Call("POST", "/v3/batches/"+batch+"/undo?changed=x", "").Has("changed is skip")

	b.Makes(strings.Repeat("https://example.com/many\n", 120))
	made := b.Shows("/console/activity", "with the calls below: 120 created", "with the call above")
	var parts []string
	for _, found := range regexp.MustCompile(`name="batch" value="([^"]+)"`).FindAllStringSubmatch(made, 3) {
		parts = append(parts, found[1])
	}
	if a := b.Sends("/console/activity/undo", url.Values{"batch": parts}); !strings.Contains(a.Body, "120 links are as before") {
		t.Errorf("the undo of three parts shows\n%s", a.Body)
	}
	httpapitest.Equal(t, "links", owner.Must("GET", "/v3/urls", "").Page.TotalCount, 1)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"two"`)
	b.Sends("/console/change", url.Values{"hash": {"one", "two"}, "change": {"archive"}})
	batch = owner.Must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	b.Leads("/console/links/one/undo", url.Values{"batch": {batch}}, "/console/activity/"+batch)
	if !owner.Read("two").Archived {
		t.Error("another link was changed without a word")
	}
	if a := b.Sends("/console/change", url.Values{"hash": {"one", "two"}, "change": {"archive"}}); !strings.Contains(a.Body, "Nothing was changed") {
		t.Errorf("a change of nothing shows\n%s", a.Body)
	}
	for _, path := range []string{"/console/activity", "/console/links/one"} {
		s.Visit(t, "GET", "/one")
		a := b.Call("GET", path+"?from=2026-02-01&to=2026-01-01", "")
		if !strings.Contains(a.Body, "The range ends before it begins") {
			t.Errorf("%s shows a reversed range as\n%s", path, a.Body)
		}
	}
	b.Refuses("/console/change", url.Values{"hash": {"two"}, "change": {"tags"}, "change_tags": {""}},
		`value="two" aria-label="two" autocomplete="off" checked`, `<option value="tags" selected>`)
	wrong := b.Call("GET", "/console/links?tags=red+tape", "")
	if !strings.Contains(httpapitest.TextOf(wrong.Body), `/console/links?tags=%2B%22red+tape%22">red tape</a>`) {
		t.Errorf("a wrong filter shows\n%s", wrong.Body)
	}
}

// TestPagesAfterForms opens pages in states to which forms lead.
func TestPagesAfterForms(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	b := s.Browser(t)
	b.SignInBy(s.Client(t, "acme"))
	b.Refuses("/console/keys", url.Values{"name": {strings.Repeat("x", 1000)}, "scopes": {"links:read"}}, `value="links:read" checked`)
	if a := b.Sends("/console/keys", url.Values{"scopes": {"links:read"}}); !strings.Contains(a.Body, "<h2>The new key</h2>") {
		t.Errorf("a key without a name shows\n%s", a.Body)
	}
	seen := b.Sends("/console/new", url.Values{"lines": {
		"url,note,visits,expiration_date\nhttps://example.com/,a note that is much too long for this,3,2099-01-31",
	}})
	for _, part := range []string{"Columns that links do not have: visits", "the note is cut", "until 2099-01-31", "Make the link<", "generated"} {
		if !strings.Contains(seen.Body, part) {
			t.Errorf("the preview does not show %q\n%s", part, seen.Body)
		}
	}
	operators := httpapitest.NewBrowser(t, operatorstest.For(t, s.Stack, engine.Config{}, httpapitest.Timeout))
	operators.Shows("/console/sign-in?ended=1", "Your session has ended")
}
