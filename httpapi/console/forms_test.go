package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/console"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
)

// consoleForm is a form of the console that is ready to be sent.
type consoleForm struct {
	path    string
	browser *browsertest.Browser
	fields  url.Values
}

// consoleForms returns the form of each action, each about a link of its own and in a session of its own.
func consoleForms(t *testing.T, s *browsertest.Site, owner *httpapitest.Client) (forms []consoleForm) {
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
	s := browsertest.NewSite(t, "")
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
		other := s.Browser(t) // another person who finds the address
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
