package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
)

// TestDeletedLinks lists deleted links: the latest first, each as it was, those of the account alone, until they are
// restored. A hash that was deleted twice occurs twice.
func TestDeletedLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	owner, other := s.client(t, "acme"), s.client(t, "labs")
	list := func(of *client, query string) (hashes []string, total int64) {
		t.Helper()
		a := of.must("GET", "/v3/deleted"+query, "")
		for _, link := range a.Deleted {
			hashes = append(hashes, link.Hash)
		}
		equal(t, "results", int64(a.Page.ResultsCount), int64(len(hashes)))
		return hashes, a.Page.TotalCount
	}
	shows := func(of *client, query, hashes string, total int64) {
		t.Helper()
		found, all := list(of, query)
		equal(t, "deleted "+query, fmt.Sprint(found), hashes)
		equal(t, "total "+query, all, total)
	}
	shows(owner, "", "[]", 0)
	other.create(`"long_url":"https://example.com/","custom_hash":"theirs"`)
	other.must("DELETE", "/v3/urls/theirs", "")
	owner.create(`"long_url":"https://example.com/first","custom_hash":"one","note":"a note","tags":["news"]`)
	s.visit(t, "GET", "/one")
	owner.create(`"long_url":"https://example.com/","custom_hash":"two"`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"live"`)
	s.at(t, "2026-05-14T13:00:00Z")
	owner.must("DELETE", "/v3/urls/one", "")
	s.at(t, "2026-05-14T14:00:00Z")
	owner.must("DELETE", "/v3/urls/two", "")
	shows(owner, "", "[two one]", 2)
	shows(owner, "?offset=1&limit=1", "[one]", 2)
	shows(owner, "?offset=2", "[]", 2)
	link := owner.must("GET", "/v3/deleted?offset=1", "").Deleted[0]
	equal(t, "the deleted link", fmt.Sprintln(link.Hash, link.LongURL, link.Note, link.Tags, *link.TotalClicks,
		wire(link.CreatedAt), wire(link.DeletedAt), link.Restorable),
		"one https://example.com/first a note [news] 1 2026-05-14T12:00:00+00:00 2026-05-14T13:00:00+00:00 true\n")
	owner.create(`"long_url":"https://example.com/second","custom_hash":"one"`)
	s.at(t, "2026-05-14T15:00:00Z")
	owner.must("DELETE", "/v3/urls/one", "")
	shows(owner, "", "[one two one]", 3)
	for i, restorable := range []bool{true, true, false} { // the older link gets the hash back after the newer one
		equal(t, fmt.Sprint("restorable ", i), owner.must("GET", "/v3/deleted", "").Deleted[i].Restorable, restorable)
	}
	owner.must("POST", "/v3/urls/two/restore", "{}")
	shows(owner, "", "[one one]", 2)
	shows(other, "", "[theirs]", 1)
	for _, query := range []string{"?offset=-1", "?limit=0", "?limit=x"} {
		owner.call("GET", "/v3/deleted"+query, "").is(http.StatusBadRequest, apierror.CodeWrongInput)
	}

	b := s.browser(t)
	b.signInBy(owner)
	b.shows("/console/links", `href="/console/deleted"`)
	b.shows("/console/deleted", "https://example.com/second", "https://example.com/first", "a note", "news", "Restore")
	b.leads("/console/links/one/restore", url.Values{}, "/console/links/one")
	b.shows("/console/links/one", "https://example.com/second")
	shows(owner, "", "[one]", 1)
	if body := b.shows("/console/deleted", "https://example.com/first"); strings.Contains(body, "Restore") {
		t.Error("a link whose hash is taken can be restored")
	}
}
