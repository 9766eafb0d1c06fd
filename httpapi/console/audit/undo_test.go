package audit_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
)

// TestUndoNamesWhatItTakesBack undoes calls whose fields were changed since, that changed several links, and that were
// made in parts.
func TestUndoNamesWhatItTakesBack(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
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
	if !strings.Contains(browsertest.TextOf(wrong.Body), `/console/links?tags=%2B%22red+tape%22">red tape</a>`) {
		t.Errorf("a wrong filter shows\n%s", wrong.Body)
	}
}

// TestPagesOfFormerHashes opens links by their former hashes, and at times before they were renamed.
func TestPagesOfFormerHashes(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
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
		!strings.Contains(a.Body, "The link of this hash was called first then") {
		t.Errorf("the new hash before the rename: %d\n%s", a.Status, a.Body)
	}
}

// TestPagesNameWho shows keys without a name, and what is undone of one.
func TestPagesNameWho(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
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
