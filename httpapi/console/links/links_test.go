package links_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// TestPagesShowStates opens the list and the pages of links that do not redirect, or have flags.
func TestPagesShowStates(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
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

// TestConsoleChangesMany makes many links, changes some and all that match, and undoes it.
func TestConsoleChangesMany(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Shows("/console/new", "destination, hash, tags, note")
	made := b.Makes("long_url,custom_hash,tags,note\n" +
		`https://example.com/1, one, news; spring sale, "a, note"` + "\nhttps://example.com/2, two, news\n\n" +
		"nonsense, three\nhttps://example.com/4,one\n" + strings.Repeat("https://example.com/more,,bulk\n", 60))
	if made.Status != http.StatusOK || !strings.Contains(made.Body, "62 links are made. 2 of 64 lines were refused") ||
		!strings.Contains(made.Body, ">\nlong_url,custom_hash,tags,note\nnonsense, three\nhttps://example.com/4,one</textarea>") {
		t.Fatalf("many lines answer %d\n%s", made.Status, made.Body)
	}
	if link := owner.Read("one"); link.Note != "a, note" || strings.Join(link.Tags, " ") != "news spring sale" {
		t.Errorf("made %+v", link)
	}
	for _, lines := range []string{"", " \n", strings.Repeat("https://example.com/\n", 1001)} {
		b.Refuses("/console/new", url.Values{"lines": {lines}})
	}
	b.Shows("/console/links?tags=%2Bbulk", "Change all 60 that match")
	b.Leads("/console/change", url.Values{"hash": {"one", "two"}, "change": {"tags"}, "change_tags": {"new, -news"}}, "/console/links")
	b.Leads("/console/change", url.Values{"hash": {"one"}, "change": {"protect"}}, "/console/links")
	if link := owner.Read("one"); !link.Protected || strings.Join(link.Tags, " ") != "spring sale new" {
		t.Errorf("changed to %+v", link)
	}
	b.Leads("/console/change", url.Values{"all": {"1"}, "tags": {"+bulk"}, "hash": {"one"}, "change": {"delete"}}, "/console/links")
	if n := owner.Must("GET", "/v3/urls", "").Page.TotalCount; n != 2 {
		t.Errorf("%d links are left, want 2", n)
	}
	last := owner.Must("GET", "/v3/activity?limit=1", "").Activity[0].Batch
	b.Leads("/console/activity/undo", url.Values{"batch": {last}}, "/console/activity")
	if n := owner.Must("GET", "/v3/urls", "").Page.TotalCount; n != 62 {
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
		b.Refuses("/console/change", fields)
	}
}

// TestSecondTabChooses saves a field in two tabs: the second is shown what the first saved, and replaces it by saving
// again.
func TestSecondTabChooses(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
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
