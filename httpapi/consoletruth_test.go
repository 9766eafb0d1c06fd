package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/queries/accountlist"
)

// level waits until projections have everything that is in the log by now.
func (s *stack) awaitLevel(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		for {
			generations, err := status.Generations(withTimeout(t), s.db)
			if err == nil {
				err = status.AddLag(withTimeout(t), projections.All(), s.store, generations)
			}
			if err != nil {
				t.Fatal(err)
			}
			lags := false
			for _, g := range generations {
				lags = lags || g.Name == name && g.Serving && g.LagEvents > 0
			}
			if !lags {
				break
			}
			if withTimeout(t).Err() != nil {
				t.Fatal("the projection stays behind")
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}

// becomes opens a page until it leads to another address, and returns that.
func (b *browser) becomesWhole(path string) string {
	b.t.Helper()
	for late := time.Now().Add(testTimeout); time.Now().Before(late); {
		a := b.call("GET", path, "")
		if a.status == http.StatusSeeOther {
			return a.header.Get("Location")
		}
		<-time.After(5 * time.Millisecond)
	}
	b.t.Fatalf("%s never becomes whole", path)
	return ""
}

// TestPagesSayWhatIsNotVisibleYet saves while projections are paused. The pages say that it is saved and not visible,
// and deny nothing that is so.
func TestPagesSayWhatIsNotVisibleYet(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", impatient)
	owner := s.client(t, "acme")
	for _, hash := range []string{"one", "moving", "going"} {
		owner.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
	}
	paused := []string{projections.Links, projections.Tags, projections.Activity}
	s.awaitLevel(t, paused...)
	b := s.browser(t)
	key := owner.must("GET", "/v3/keys", "").Keys[0].ID
	b.leads(s.signInLink(t, accountlist.NewSession{Account: uuid.MustParse(owner.id), Key: key}), nil, "/console")
	s.pause(t, paused...)
	var opened []string
	for _, of := range []struct {
		action string
		fields url.Values
		page   string
	}{
		{"/console/links", url.Values{"long_url": {"https://example.com/new"}, "custom_hash": {"new"}}, "/console/links/new"},
		{"/console/links/one", url.Values{"note": {"later"}}, "/console/links/one"},
		{"/console/links/moving", url.Values{"custom_hash": {"moved"}, "custom_hash_before": {"moving"}}, "/console/links/moved"},
		{"/console/links/going/delete", nil, "/console/links/going"},
		{"/console/tags", url.Values{"label": {"spring"}}, "/console/tags"},
		{"/console/change", url.Values{"hash": {"one"}, "change": {"protect"}}, "/console/links"},
	} {
		a := b.post(of.action, of.fields)
		to := a.header.Get("Location")
		if a.status != http.StatusSeeOther || !strings.HasPrefix(to, of.page+"?written=") {
			t.Fatalf("%s answers %d, leads to %q\n%s", of.action, a.status, to, a.body)
		}
		body := b.shows(to, "Saved, not visible yet")
		if strings.Contains(body, "This link") || strings.Contains(body, "Restore it") ||
			strings.Contains(body, "Save</button>") || !strings.Contains(body, `<noscript><meta http-equiv="refresh"`) {
			t.Errorf("%s shows\n%s", to, body)
		}
		opened = append(opened, to)
	}
	b.shows("/console/links/new", "https://example.com/new")
	s.resume(t, paused...)
	for _, path := range opened {
		whole, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		query := whole.Query()
		query.Del("written")
		whole.RawQuery = query.Encode()
		equal(t, "the whole page", b.becomesWhole(path), whole.String())
	}
	b.shows("/console/links/one", "later")
	b.shows("/console/links/going", "This link was deleted on", "Restore it")
	if body := b.shows("/console/links/going?written=999999999999", "Saved, not visible yet"); strings.Contains(body, "Restore it") {
		t.Error("a page that lacks what was saved offers to restore")
	}
	if a := b.call("GET", "/console/links?tags=%2Bspring&written=x", ""); a.header.Get("Location") != "/console/links?tags=%2Bspring" {
		t.Errorf("a wrong position leads to %q", a.header.Get("Location"))
	}
}

// TestPagesSayThatTheyLag opens pages while the read models are behind by more than a moment.
func TestPagesSayThatTheyLag(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", func(cfg *Config) {
		cfg.Projections.Behind = func(...string) time.Duration { return 11*time.Minute + 58*time.Second }
	})
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	b := s.browser(t)
	b.signInBy(owner)
	b.shows("/console/links", "Changes of the last 11 min 58 s may be missing")
}

// TestPagesOfFormerHashes opens links by hashes and at times of before they were renamed.
func TestPagesOfFormerHashes(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/a","custom_hash":"first","tags":["news"]`)
	owner.must("PATCH", "/v3/urls/first", `{"urls":[{"note":"a note"}]}`)
	between := url.QueryEscape(s.syncClock())
	owner.must("PATCH", "/v3/urls/first", `{"urls":[{"custom_hash":"second"}]}`)
	owner.must("PATCH", "/v3/urls/second", `{"urls":[{"max_clicks":7}]}`)
	s.syncClock()
	b := s.browser(t)
	b.signInBy(owner)
	body := b.shows("/console/links/second", "created", `<span class="field">destination</span> <ins>https://example.com/a`)
	if strings.Contains(body, "<del>none") {
		t.Errorf("the creation tells of what was not\n%s", body)
	}
	if n := strings.Count(body, `href="/console/links/first?at=`); n != 2 {
		t.Errorf("%d times lead to the former hash, want those of creation and note\n%s", n, body)
	}
	for _, at := range strings.Split(body, `href="`)[1:] {
		at, _, _ = strings.Cut(at, `"`)
		if strings.Contains(at, "?at=") {
			b.shows(at, "The link as it was at")
		}
	}
	moved := b.shows("/console/links/first", "The link that was here has another hash", `href="/console/links/second"`)
	if strings.Contains(moved, "deleted") {
		t.Errorf("a link that moved is called deleted\n%s", moved)
	}
	if a := b.call("GET", "/console/links/second?at="+between, ""); a.status != http.StatusNotFound ||
		!strings.Contains(a.body, "It was called first then") {
		t.Errorf("the new hash before the rename: %d\n%s", a.status, a.body)
	}
}

// TestPagesShowStates opens the list and the pages of links that do not redirect, or have flags.
func TestPagesShowStates(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	long := "https://example.com/" + strings.Repeat("long/", 380) + "the-end"
	owner.create(`"long_url":"https://example.com/","custom_hash":"expired","expiration_date":"2026-05-13"`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"spent","max_clicks":1`)
	owner.must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":1,"archived":true}]}`)
	owner.create(fmt.Sprintf(`"long_url":%q,"custom_hash":"long","note":"a note","tags":["news"]`, long))
	owner.must("PATCH", "/v3/urls/long", `{"urls":[{"protected":true,"max_clicks":9}]}`)
	s.visit(t, "GET", "/spent")
	b := s.browser(t)
	b.signInBy(owner)
	b.shows("/console/links", ">expired</small>", ">used up</small>", ">archived</small>", ">protected</small>", "…", "the-end <small>all of it")
	for path, reason := range map[string]string{
		"/console/links/expired": "its last day was 2026-05-13",
		"/console/links/spent":   "it was used as often as it may be, 1 time. It was followed last at",
	} {
		if body := b.shows(path, "This link does not redirect", reason); strings.Contains(body, "<img") {
			t.Errorf("%s shows a code that leads nowhere", path)
		}
	}
	b.shows("/console/links/spent", "Archived, and redirects as before", "since <time")
	body := b.shows("/console/links/long", "<img", "Protected: it cannot be deleted", "stops working at once", "may stop working", long)
	for _, mark := range []string{"watched", "daily report"} {
		if strings.Contains(body, mark) {
			t.Errorf("the page has the mark %q, which has no effect", mark)
		}
	}
	viewer, _ := s.member(t, owner, "vera", "viewer")
	read := viewer.shows("/console/links/long", "<dt>Note</dt><dd>a note", "<dt>Tags</dt><dd>news", "<dt>Last day</dt><dd>none",
		"<dt>Most clicks</dt><dd>9")
	if strings.Contains(read, "Change the hash") {
		t.Error("a viewer may change the hash")
	}
	viewer.shows("/console/links/expired", "<dt>Last day</dt><dd>2026-05-13", "<dt>Most clicks</dt><dd>no limit")
	// A refused change of the hash keeps the other fields of the page.
	refused := b.refuses("/console/links/long", url.Values{"custom_hash": {"expired"}, "custom_hash_before": {"long"}})
	if !strings.Contains(refused.body, `name="note" data-most="25" value="a note"`) ||
		!strings.Contains(refused.body, `value="expired"`) || !strings.Contains(refused.body, `name="protected" value="1" checked`) {
		t.Errorf("a refused hash answers %d\n%s", refused.status, refused.body)
	}
}

// TestPagesBeyondTheEnd opens lists at offsets that they do not have.
func TestPagesBeyondTheEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf(`{"long_url":"https://example.com/%d"}`, i))
	}
	for range 2 {
		owner.must("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	}
	b := s.browser(t)
	b.signInBy(owner)
	for path, want := range map[string]string{
		"/console/links?offset=5000&order_by=hash": "/console/links?offset=50&order_by=hash",
		"/console/links?search=none&offset=50":     "/console/links?search=none",
		"/console/activity?offset=100":             "/console/activity",
		"/console/deleted?offset=50":               "/console/deleted",
	} {
		if a := b.call("GET", path, ""); a.status != http.StatusSeeOther || a.header.Get("Location") != want {
			t.Errorf("%s answers %d, leads to %q, want %q", path, a.status, a.header.Get("Location"), want)
		}
	}
	for _, path := range []string{"/console/links", "/console/activity", "/console/deleted"} {
		for _, offset := range []string{"-1", "x", "0", "99999999999999999999"} {
			b.shows(path+"?offset="+offset, "<h1>")
		}
	}
	if a := b.call("GET", "/console/links?tags=%2Bnews%26", ""); strings.Contains(a.body, "No link matches") ||
		!strings.Contains(a.body, "Nothing was looked for") {
		t.Errorf("a wrong expression shows\n%s", a.body)
	}
}

// TestPagesNameWho shows keys without a name, and what is undone of one.
func TestPagesNameWho(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	owner.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	id := owner.must("GET", "/v3/keys", "").Keys[0].ID
	b := s.browser(t)
	b.signInBy(owner)
	for _, path := range []string{"/console/links/one", "/console/activity", "/console/account"} {
		body := b.shows(path, "a key without a name", `title="key `+id)
		if strings.Contains(body, ">key "+id) {
			t.Errorf("%s shows the id of a key\n%s", path, body)
		}
	}
	b.shows("/console/keys", "without a name", "everything")
	owner.must("POST", "/v3/keys", `{"name":"reader","scopes":["links:read","keys:read"]}`)
	added := owner.must("GET", "/v3/activity?kind=account&limit=1", "").Activity[0].Batch
	b.shows("/console/activity/"+added, "1 change of the account, its keys or members", "and no links")
	b.shows("/console/keys", "see links, see keys", "> make and revoke keys</label>")
}

// programs matches lists, values and durations as Go prints them.
var programs = regexp.MustCompile(`\[[a-z]+( [a-z]+)*\]|\b\d+(h\d+m|m\d)[\d.]*s\b|<nil>|%!|\{\{`)

// TestPagesOfOperatorsReadPlainly opens every page of operators, with and without what it is about.
func TestPagesOfOperatorsReadPlainly(t *testing.T) {
	t.Parallel()
	s, h := newOperators(t, testTimeout)
	stream := s.poison(t)
	b := s.operator(t, h)
	for _, route := range h.Routes() {
		if route.Method != http.MethodGet || isFile(route.Path) || isOpen(route) {
			continue
		}
		for _, query := range []string{"", "?" + url.Values{"stream": {stream}, "revision": {"0"}}.Encode(), "?from=-1&offset=-1"} {
			a := b.call("GET", operatorPaths.Replace(route.Path)+query, "", header("Accept", "text/html"))
			if found := programs.FindString(textOf(a.body)); found != "" || !strings.Contains(a.body, "<nav") {
				t.Errorf("%s%s shows %q\n%s", route.Path, query, found, a.body)
			}
		}
	}
	if a := b.call("GET", "/console/nothing", "", header("Accept", "text/html")); !strings.Contains(a.body, "There is no such page") ||
		!strings.Contains(a.body, "Console of operators") {
		t.Errorf("no page shows\n%s", a.body)
	}
}
