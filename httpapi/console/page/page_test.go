package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
	"linkledger/queries/accountlist"
)

// becomes opens a page until it leads to another address, and returns that.
func becomesWhole(b *browsertest.Browser, path string) string {
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
	s := browsertest.NewSite(t, "", httpapitest.Impatient)
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
	s := browsertest.NewSite(t, "", func(cfg *httpapi.Config) {
		cfg.Projections.Behind = func(...string) time.Duration { return 11*time.Minute + 58*time.Second }
	})
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Shows("/console/links", "Changes of the last 11 min 58 s may be missing")
}

// TestPagesBeyondTheEnd opens lists at offsets that they do not have.
func TestPagesBeyondTheEnd(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
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
