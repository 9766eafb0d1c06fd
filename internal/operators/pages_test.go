package operators_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
	"linkledger/internal/operators/operatorstest"
)

// TestOperatorsFormsAreDoneOnce sends each form of the console of operators twice at once.
func TestOperatorsFormsAreDoneOnce(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	for _, route := range h.Routes() {
		path := pagetest.OperatorPaths.Replace(route.Path)
		if route.Method != http.MethodPost || strings.HasPrefix(path, "/console/sign-in") {
			continue
		}
		b := operatorstest.SignIn(t, s, h)
		fields := pagetest.HiddenFields(t, b.Shows("/console/projections/links"))
		fields.Set("stream", "x")
		a := pagetest.Twice(b, path, fields)
		if shown := b.Follow(a); shown.Status >= http.StatusInternalServerError {
			t.Errorf("%s leads to a page that answers %d\n%s", path, shown.Status, shown.Body)
		}
	}
	var builds int
	if err := s.DB.NewRaw("SELECT count(*) FROM linkledger.generations WHERE name = 'links'").
		Scan(t.Context(), &builds); err != nil || builds > 2 {
		t.Errorf("a rebuild that is sent twice makes %d generations, %v", builds, err)
	}
}

// programs matches lists, values and durations as Go prints them.
var programs = regexp.MustCompile(`\[[a-z]+( [a-z]+)*\]|\b\d+(h\d+m|m\d)[\d.]*s\b|<nil>|%!|\{\{`)

// TestPagesOfOperatorsReadPlainly opens every page of operators, with and without its subject.
func TestPagesOfOperatorsReadPlainly(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	stream := operatorstest.Poison(t, s)
	b := operatorstest.SignIn(t, s, h)
	for _, route := range h.Routes() {
		if route.Method != http.MethodGet || pagetest.IsFile(route.Path) || pagetest.AsksToSignIn(route) {
			continue
		}
		for _, query := range []string{"", "?" + url.Values{"stream": {stream}, "revision": {"0"}}.Encode(), "?from=-1&offset=-1"} {
			a := b.Call("GET", pagetest.OperatorPaths.Replace(route.Path)+query, "", httpapitest.Header("Accept", "text/html"))
			if found := programs.FindString(browsertest.TextOf(a.Body)); found != "" || !strings.Contains(a.Body, "<nav") {
				t.Errorf("%s%s shows %q\n%s", route.Path, query, found, a.Body)
			}
		}
	}
	if a := b.Call("GET", "/console/nothing", "", httpapitest.Header("Accept", "text/html")); !strings.Contains(a.Body, "There is no such page") ||
		!strings.Contains(a.Body, "Console of operators") {
		t.Errorf("no page shows\n%s", a.Body)
	}
}
