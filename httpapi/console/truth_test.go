package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
	"linkledger/queries/accountlist"
)

// becomes opens a page until it leads to another address, and returns that.
func becomesWhole(b *httpapitest.Browser, path string) string {
	b.T.Helper()
	for late := time.Now().Add(httpapitest.Timeout); time.Now().Before(late); {
		a := b.Call("GET", path, "")
		if a.Status == http.StatusSeeOther {
			return a.Header.Get("Location")
		}
		<-time.After(5 * time.Millisecond)
	}
	b.T.Fatalf("%s never becomes whole", path)
	return ""
}

// TestPagesSayWhatIsNotVisibleYet saves while projections are paused. The pages say that it is saved and not visible,
// and deny nothing that is so.
func TestPagesSayWhatIsNotVisibleYet(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "", httpapitest.Impatient)
	owner := s.Client(t, "acme")
	for _, hash := range []string{"one", "moving", "going"} {
		owner.Create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
	}
	paused := []string{projections.Links, projections.Tags, projections.Activity}
	s.AwaitLevel(t, paused...)
	b := s.Browser(t)
	key := owner.Must("GET", "/v3/keys", "").Keys[0].ID
	b.Leads(s.SignInLink(t, accountlist.NewSession{Account: uuid.MustParse(owner.ID), Key: key}), nil, "/console")
	s.Pause(t, paused...)
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
		a := b.Post(of.action, of.fields)
		to := a.Header.Get("Location")
		if a.Status != http.StatusSeeOther || !strings.HasPrefix(to, of.page+"?written=") {
			t.Fatalf("%s answers %d, leads to %q\n%s", of.action, a.Status, to, a.Body)
		}
		body := b.Shows(to, "Saved, not visible yet")
		if strings.Contains(body, "This link") || strings.Contains(body, "Restore it") ||
			strings.Contains(body, "Save</button>") || !strings.Contains(body, `<noscript><meta http-equiv="refresh"`) {
			t.Errorf("%s shows\n%s", to, body)
		}
		opened = append(opened, to)
	}
	b.Shows("/console/links/new", "https://example.com/new")
	s.Resume(t, paused...)
	for _, path := range opened {
		whole, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		query := whole.Query()
		query.Del("written")
		whole.RawQuery = query.Encode()
		httpapitest.Equal(t, "the whole page", becomesWhole(b, path), whole.String())
	}
	b.Shows("/console/links/one", "later")
	b.Shows("/console/links/going", "This link was deleted on", "Restore it")
	if body := b.Shows("/console/links/going?written=999999999999", "Saved, not visible yet"); strings.Contains(body, "Restore it") {
		t.Error("a page that lacks what was saved offers to restore")
	}
	if a := b.Call("GET", "/console/links?tags=%2Bspring&written=x", ""); a.Header.Get("Location") != "/console/links?tags=%2Bspring" {
		t.Errorf("a wrong position leads to %q", a.Header.Get("Location"))
	}
}

// TestPagesSayThatTheyLag opens pages while the read models are behind by more than a moment.
func TestPagesSayThatTheyLag(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "", func(cfg *httpapi.Config) {
		cfg.Projections.Behind = func(...string) time.Duration { return 11*time.Minute + 58*time.Second }
	})
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Shows("/console/links", "Changes of the last 11 min 58 s may be missing")
}

// TestPagesOfFormerHashes opens links by hashes and at times of before they were renamed.
func TestPagesOfFormerHashes(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/a","custom_hash":"first","tags":["news"]`)
	owner.Must("PATCH", "/v3/urls/first", `{"urls":[{"note":"a note"}]}`)
	between := url.QueryEscape(s.SyncClock())
	owner.Must("PATCH", "/v3/urls/first", `{"urls":[{"custom_hash":"second"}]}`)
	owner.Must("PATCH", "/v3/urls/second", `{"urls":[{"max_clicks":7}]}`)
	s.SyncClock()
	b := s.Browser(t)
	b.SignInBy(owner)
	body := b.Shows("/console/links/second", "created", `<span class="field">destination</span> <ins>https://example.com/a`)
	if strings.Contains(body, "<del>none") {
		t.Errorf("the creation tells of what was not\n%s", body)
	}
	if n := strings.Count(body, `href="/console/links/first?at=`); n != 2 {
		t.Errorf("%d times lead to the former hash, want those of creation and note\n%s", n, body)
	}
	for _, at := range strings.Split(body, `href="`)[1:] {
		at, _, _ = strings.Cut(at, `"`)
		if strings.Contains(at, "?at=") {
			b.Shows(at, "The link as it was at")
		}
	}
	moved := b.Shows("/console/links/first", "The link that was here has another hash", `href="/console/links/second"`)
	if strings.Contains(moved, "deleted") {
		t.Errorf("a link that moved is called deleted\n%s", moved)
	}
	if a := b.Call("GET", "/console/links/second?at="+between, ""); a.Status != http.StatusNotFound ||
		!strings.Contains(a.Body, "It was called first then") {
		t.Errorf("the new hash before the rename: %d\n%s", a.Status, a.Body)
	}
}

// TestPagesShowStates opens the list and the pages of links that do not redirect, or have flags.
func TestPagesShowStates(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	long := "https://example.com/" + strings.Repeat("long/", 380) + "the-end"
	owner.Create(`"long_url":"https://example.com/","custom_hash":"expired","expiration_date":"2026-05-13"`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"spent","max_clicks":1`)
	owner.Must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":1,"archived":true}]}`)
	owner.Create(fmt.Sprintf(`"long_url":%q,"custom_hash":"long","note":"a note","tags":["news"]`, long))
	owner.Must("PATCH", "/v3/urls/long", `{"urls":[{"protected":true,"max_clicks":9}]}`)
	s.Visit(t, "GET", "/spent")
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Shows("/console/links", ">expired</small>", ">used up</small>", ">archived</small>", ">protected</small>", "…", "the-end <small>all of it")
	for path, reason := range map[string]string{
		"/console/links/expired": "its last day was 2026-05-13",
		"/console/links/spent":   "it was used as often as it may be, 1 time. It was followed last at",
	} {
		if body := b.Shows(path, "This link does not redirect", reason); strings.Contains(body, "<img") {
			t.Errorf("%s shows a code that leads nowhere", path)
		}
	}
	b.Shows("/console/links/spent", "Archived, and redirects as before", "since <time")
	body := b.Shows("/console/links/long", "<img", "Protected: it cannot be deleted", "stops working at once", "may stop working", long)
	for _, mark := range []string{"watched", "daily report"} {
		if strings.Contains(body, mark) {
			t.Errorf("the page has the mark %q, which has no effect", mark)
		}
	}
	viewer, _ := s.Member(t, owner, "vera", "viewer")
	read := viewer.Shows("/console/links/long", "<dt>Note</dt><dd>a note", "<dt>Tags</dt><dd>news", "<dt>Last day</dt><dd>none",
		"<dt>Most clicks</dt><dd>9")
	if strings.Contains(read, "Change the hash") {
		t.Error("a viewer may change the hash")
	}
	viewer.Shows("/console/links/expired", "<dt>Last day</dt><dd>2026-05-13", "<dt>Most clicks</dt><dd>no limit")
	// A refused change of the hash keeps the other fields of the page.
	refused := b.Refuses("/console/links/long", url.Values{"custom_hash": {"expired"}, "custom_hash_before": {"long"}})
	if !strings.Contains(refused.Body, `name="note" data-most="25" value="a note"`) ||
		!strings.Contains(refused.Body, `value="expired"`) || !strings.Contains(refused.Body, `name="protected" value="1" checked`) {
		t.Errorf("a refused hash answers %d\n%s", refused.Status, refused.Body)
	}
}

// TestPagesBeyondTheEnd opens lists at offsets that they do not have.
func TestPagesBeyondTheEnd(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf(`{"long_url":"https://example.com/%d"}`, i))
	}
	for range 2 {
		owner.Must("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	}
	b := s.Browser(t)
	b.SignInBy(owner)
	for path, want := range map[string]string{
		"/console/links?offset=5000&order_by=hash": "/console/links?offset=50&order_by=hash",
		"/console/links?search=none&offset=50":     "/console/links?search=none",
		"/console/activity?offset=100":             "/console/activity",
		"/console/deleted?offset=50":               "/console/deleted",
	} {
		if a := b.Call("GET", path, ""); a.Status != http.StatusSeeOther || a.Header.Get("Location") != want {
			t.Errorf("%s answers %d, leads to %q, want %q", path, a.Status, a.Header.Get("Location"), want)
		}
	}
	for _, path := range []string{"/console/links", "/console/activity", "/console/deleted"} {
		for _, offset := range []string{"-1", "x", "0", "99999999999999999999"} {
			b.Shows(path+"?offset="+offset, "<h1>")
		}
	}
	if a := b.Call("GET", "/console/links?tags=%2Bnews%26", ""); strings.Contains(a.Body, "No link matches") ||
		!strings.Contains(a.Body, "Nothing was looked for") {
		t.Errorf("a wrong expression shows\n%s", a.Body)
	}
}

// TestPagesNameWho shows keys without a name, and what is undone of one.
func TestPagesNameWho(t *testing.T) {
	t.Parallel()
	s := httpapitest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	id := owner.Must("GET", "/v3/keys", "").Keys[0].ID
	b := s.Browser(t)
	b.SignInBy(owner)
	for _, path := range []string{"/console/links/one", "/console/activity", "/console/account"} {
		body := b.Shows(path, "a key without a name", `title="key `+id)
		if strings.Contains(body, ">key "+id) {
			t.Errorf("%s shows the id of a key\n%s", path, body)
		}
	}
	b.Shows("/console/keys", "without a name", "everything")
	owner.Must("POST", "/v3/keys", `{"name":"reader","scopes":["links:read","keys:read"]}`)
	added := owner.Must("GET", "/v3/activity?kind=account&limit=1", "").Activity[0].Batch
	b.Shows("/console/activity/"+added, "1 change of the account, its keys or members", "and no links")
	b.Shows("/console/keys", "see links, see keys", "> make and revoke keys</label>")
}
