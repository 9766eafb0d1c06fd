package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// TestDeletedLinks lists the deleted links of an account until they are restored: the latest first, each with its last
// fields. A hash that was deleted twice occurs twice.
func TestDeletedLinks(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner, other := s.Client(t, "acme"), s.Client(t, "labs")
	list := func(of *httpapitest.Client, query string) (hashes []string, total int64) {
		t.Helper()
		a := of.Must("GET", "/v3/deleted"+query, "")
		for _, link := range a.Deleted {
			hashes = append(hashes, link.Hash)
		}
		httpapitest.Equal(t, "results", int64(a.Page.ResultsCount), int64(len(hashes)))
		return hashes, a.Page.TotalCount
	}
	shows := func(of *httpapitest.Client, query, hashes string, total int64) {
		t.Helper()
		found, all := list(of, query)
		httpapitest.Equal(t, "deleted "+query, fmt.Sprint(found), hashes)
		httpapitest.Equal(t, "total "+query, all, total)
	}
	shows(owner, "", "[]", 0)
	other.Create(`"long_url":"https://example.com/","custom_hash":"theirs"`)
	other.Must("DELETE", "/v3/urls/theirs", "")
	owner.Create(`"long_url":"https://example.com/first","custom_hash":"one","note":"a note","tags":["news"]`)
	s.Visit(t, "GET", "/one")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"two"`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"live"`)
	s.SetTime(t, "2026-05-14T13:00:00Z")
	owner.Must("DELETE", "/v3/urls/one", "")
	s.SetTime(t, "2026-05-14T14:00:00Z")
	owner.Must("DELETE", "/v3/urls/two", "")
	shows(owner, "", "[two one]", 2)
	shows(owner, "?offset=1&limit=1", "[one]", 2)
	shows(owner, "?offset=2", "[]", 2)
	link := owner.Must("GET", "/v3/deleted?offset=1", "").Deleted[0]
	httpapitest.Equal(t, "the deleted link", fmt.Sprintln(link.Hash, link.LongURL, link.Note, link.Tags, *link.TotalClicks,
		httpapitest.Wire(link.CreatedAt), httpapitest.Wire(link.DeletedAt), link.Restorable),
		"one https://example.com/first a note [news] 1 2026-05-14T12:00:00+00:00 2026-05-14T13:00:00+00:00 true\n")
	owner.Create(`"long_url":"https://example.com/second","custom_hash":"one"`)
	s.SetTime(t, "2026-05-14T15:00:00Z")
	owner.Must("DELETE", "/v3/urls/one", "")
	shows(owner, "", "[one two one]", 3)
	for i, restorable := range []bool{true, true, false} { // the older link gets the hash back after the newer one
		httpapitest.Equal(t, fmt.Sprint("restorable ", i), owner.Must("GET", "/v3/deleted", "").Deleted[i].Restorable, restorable)
	}
	owner.Must("POST", "/v3/urls/two/restore", "{}")
	shows(owner, "", "[one one]", 2)
	shows(other, "", "[theirs]", 1)
	for _, query := range []string{"?offset=-1", "?limit=0", "?limit=x"} {
		owner.Call("GET", "/v3/deleted"+query, "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
	}

	b := s.Browser(t)
	b.SignInBy(owner)
	b.Shows("/console/links", `href="/console/deleted"`)
	b.Shows("/console/deleted", "https://example.com/second", "https://example.com/first", "a note", "news", "Restore")
	b.Leads("/console/links/one/restore", url.Values{}, "/console/links/one")
	b.Shows("/console/links/one", "https://example.com/second")
	shows(owner, "", "[one]", 1)
	if body := b.Shows("/console/deleted", "https://example.com/first"); strings.Contains(body, "Restore") {
		t.Error("a link whose hash is taken can be restored")
	}
}
