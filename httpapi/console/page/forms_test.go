package page_test

import (
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/internal/operators/operatorstest"
	"linkledger/projections/engine"
)

// TestPagesAfterForms opens pages in states to which forms lead.
func TestPagesAfterForms(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	b := s.Browser(t)
	b.SignInBy(s.Client(t, "acme"))
	b.Refuses("/console/keys", url.Values{"name": {strings.Repeat("x", 1000)}, "scopes": {"links:read"}}, `value="links:read" checked`)
	if a := b.Sends("/console/keys", url.Values{"scopes": {"links:read"}}); !strings.Contains(a.Body, "<h2>The new key</h2>") {
		t.Errorf("a key without a name shows\n%s", a.Body)
	}
	seen := b.Sends("/console/new", url.Values{"lines": {
		"url,note,visits,expiration_date\nhttps://example.com/,a note that is much too long for this,3,2099-01-31",
	}})
	for _, part := range []string{"Columns that links do not have: visits", "the note is cut", "until 2099-01-31", "Make the link<", "generated"} {
		if !strings.Contains(seen.Body, part) {
			t.Errorf("the preview does not show %q\n%s", part, seen.Body)
		}
	}
	operators := browsertest.NewBrowser(t, operatorstest.For(t, s.Stack, engine.Config{}, httpapitest.Timeout))
	operators.Shows("/console/sign-in?ended=1", "Your session has ended")
}
