package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
)

// TestSignOutAtIssuerToo signs out in the console. The browser signs out at the issuer too, and
// comes back to the page that asks people to sign in.
func TestSignOutAtIssuerToo(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	client := s.Issuer.Client()
	client.SignedOutURLs = []string{"http://" + httpapitest.ShortHost + "/console/sign-in"}
	s.Issuer.Register(client)
	ada, _ := s.SignIn(t, openidtest.Ada)
	former := ada.Copy()
	a := ada.Sends("/console/sign-out", nil)
	if a.Status != http.StatusOK || !strings.Contains(a.Body, "You are signed out here") || strings.Contains(a.Body, "Ada") {
		t.Fatalf("after the sign-out: %d %s", a.Status, a.Body)
	}
	httpapitest.Equal(t, "cookies", len(ada.Cookies), 0)
	former.Ended()
	end, found := strings.CutPrefix(a.Header.Get("Refresh"), "0; url=")
	if !found || !strings.Contains(browsertest.TextOf(a.Body), end) {
		t.Errorf("the browser goes to %q", a.Header.Get("Refresh"))
	}
	if back := openidtest.Visit(t, nil, end); back.Path != "/console/sign-in" {
		t.Errorf("the issuer leads back to %s", back)
	}
	ended := s.Issuer.Ended()
	if len(ended) != 1 || len(strings.Split(ended[0].Get("id_token_hint"), ".")) != 3 {
		t.Errorf("the issuer is asked to end %v", ended)
	}

	var kept int
	if err := s.DB.NewRaw("SELECT count(*) FROM linkledger_durable.sessions").Scan(httpapitest.WithTimeout(t), &kept); err != nil || kept != 0 {
		t.Errorf("%d sessions are kept, %v", kept, err)
	}
	long := openidtest.Ada
	long.Claims = map[string]any{"much": strings.Repeat("x", 5000)} // too long for a URL
	ada, _ = s.SignIn(t, long)
	answered := ada.Must("DELETE", "/v3/session", "")
	if !strings.Contains(answered.Body, `"sign_out_url":"`+s.Issuer.URL+openidtest.EndPath+"?client_id=linkledger&") ||
		strings.Contains(answered.Body, "id_token_hint") {
		t.Errorf("the call answers %s", answered.Body)
	}

	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	b.Leads("/console/sign-out", nil, "/console/sign-in") // a key is not known to the issuer
}
