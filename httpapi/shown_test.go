package httpapi_test

import (
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
)

// The fields of a URL, by the scope that shows them.
const ()

// TestConsoleWithoutClicks opens the pages of links with a session whose key may not read clicks.
func TestConsoleWithoutClicks(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.Must("DELETE", "/v3/urls/gone", "")
	s.Visit(t, "GET", "/one")
	all, reader := s.Browser(t), s.Browser(t)
	all.SignInBy(owner)
	reader.SignInBy(owner.WithKey(`"scopes":["links:read","history:read"]`))
	for path, clicks := range map[string]string{
		"/console/links": `<td class="n">`, "/console/links/one": "<dt>Clicks</dt><dd>", "/console/deleted": `<td class="n">`,
	} {
		if !strings.Contains(all.Shows(path), clicks+"<data") || !strings.Contains(reader.Shows(path), clicks+"–") {
			t.Errorf("%s shows the clicks to who may not read them, or not to who may", path)
		}
	}
	if !strings.Contains(all.Shows("/console/links"), "most clicks") || strings.Contains(reader.Shows("/console/links"), "most clicks") {
		t.Error("the order by clicks is offered to who may not read them, or not to who may")
	}
}
