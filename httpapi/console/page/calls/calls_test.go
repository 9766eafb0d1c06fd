package calls_test

import (
	"net/url"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// TestConsoleCalls checks that pages do not use up the API calls of the account, and that their changes are recorded as
// made in the console.
func TestConsoleCalls(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	before := s.Calls.Today(t.Context(), owner.ID)
	b.Leads("/console/links", url.Values{"long_url": {"https://example.com/"}, "custom_hash": {"one"}}, "/console/links/one")
	b.Shows("/console/links/one", "in the console")
	httpapitest.Equal(t, "API calls", s.Calls.Today(t.Context(), owner.ID), before)
}
