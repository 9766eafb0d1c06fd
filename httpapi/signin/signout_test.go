package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
)

// sendSignOut sends what an issuer sends when a session has ended there, to a node. The answer is
// none of the API.
func sendSignOut(t *testing.T, node http.Handler, form url.Values, changes ...httpapitest.With) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(
		t.Context(), http.MethodPost, "http://"+httpapitest.ShortHost+signin.SignOutPath, strings.NewReader(form.Encode()),
	)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, change := range changes {
		change(r)
	}
	answered := httptest.NewRecorder()
	node.ServeHTTP(answered, r)
	if answered.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("a sign-out is answered with %v", answered.Header())
	}
	return answered
}

// TestSignOutWithoutPlaceAtIssuer signs out where the issuer has no place to do so.
func TestSignOutWithoutPlaceAtIssuer(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	s.Issuer.Discover("end_session_endpoint", nil)
	ada, _ := s.SignIn(t, openidtest.Ada)
	ada.Leads("/console/sign-out", nil, "/console/sign-in")
	ada, _ = s.SignIn(t, openidtest.Ada)
	if a := ada.Must("DELETE", "/v3/session", ""); !strings.Contains(a.Body, `"sign_out_url":null`) {
		t.Errorf("the call answers %s", a.Body)
	}
}

// TestIDTokenIsSealed checks that readers of the database cannot read the issuer's claims about people.
func TestIDTokenIsSealed(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	s.SignIn(t, openidtest.Ada)
	var row string
	if err := s.DB.NewRaw("SELECT encode(id_token, 'escape') || encode(issuer_sid, 'escape') FROM linkledger_durable.sessions").
		Scan(httpapitest.WithTimeout(t), &row); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(row, "eyJ") || strings.Contains(row, s.Issuer.Session()) {
		t.Errorf("the database has %s", row)
	}
}

// TestIssuerEndsSessions is an issuer that says which sessions have ended there. They have ended at
// all nodes.
func TestIssuerEndsSessions(t *testing.T) {
	t.Parallel()
	type some = map[string]any
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	eve, _ := s.SignIn(t, openidtest.Person{Subject: "eve", Name: "Eve"})
	signIn := func(claims some) (*browsertest.Browser, string) {
		t.Helper()
		person := openidtest.Ada
		person.Claims = claims
		b, _ := s.SignIn(t, person)
		return b, s.Issuer.Session()
	}
	ends := func(claims some) {
		t.Helper()
		a := sendSignOut(t, s.Node, url.Values{"logout_token": {s.Issuer.SignOutToken(0, claims)}})
		if a.Code != http.StatusOK {
			t.Fatalf("the sign-out is answered %d %s %v", a.Code, a.Body, s.Log.Matching("sign-out"))
		}
	}
	lives := func(b *browsertest.Browser) {
		t.Helper()
		b.On(s.Node).Must("GET", "/v3/session", "")
	}

	first, session := signIn(nil)
	second, other := signIn(nil)
	nameless, _ := signIn(some{"sid": nil}) // the issuer says no session
	ends(some{"sid": session})
	first.Ended()
	lives(second)
	lives(nameless)
	ends(some{"sid": other, "sub": "ada"})
	second.Ended()
	nameless.Ended()

	third, _ := signIn(nil)
	nameless, _ = signIn(some{"sid": nil})
	ends(some{"sub": "ada"})
	third.Ended()
	nameless.Ended()
	ends(some{"sub": "nobody"})
	ends(some{"sid": "of nobody"})
	lives(eve)
	owner.Must("GET", "/v3/urls", "")

	// A token counts once, at all nodes.
	token := url.Values{"logout_token": {s.Issuer.SignOutToken(0, some{"sub": "ada"})}}
	httpapitest.Equal(t, "status", sendSignOut(t, s.Server, token).Code, http.StatusOK)
	fourth, _ := signIn(nil)
	again := sendSignOut(t, s.Node, token)
	if again.Code != http.StatusBadRequest || !strings.Contains(again.Body.String(), `"invalid_request"`) {
		t.Errorf("a repeated token is answered %d %s", again.Code, again.Body)
	}
	lives(fourth)
}

// TestWrongSignOuts sends sign-outs that are none.
func TestWrongSignOuts(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	ada, _ := s.SignIn(t, openidtest.Ada)
	token := s.Issuer.SignOutToken(0, map[string]any{"sub": "ada"})
	for name, form := range map[string]url.Values{
		"nothing": nil, "empty": {"logout_token": {""}}, "no token": {"logout_token": {"a.b.c"}},
		"two":      {"logout_token": {token, token}},
		"unsigned": {"logout_token": {s.Issuer.SignOutToken(openidtest.Unsigned, map[string]any{"sub": "ada"})}},
		"too long": {"logout_token": {token}, "more": {strings.Repeat("x", 1<<17)}},
	} {
		a := sendSignOut(t, s.Server, form)
		if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), `"error":"invalid_request"`) {
			t.Errorf("%s is answered %d %s", name, a.Code, a.Body)
		}
	}
	inQuery := sendSignOut(t, s.Server, nil, func(r *http.Request) { r.URL.RawQuery = "logout_token=" + token })
	httpapitest.Equal(t, "status of a token in the query", inQuery.Code, http.StatusBadRequest)
	if a := httpapitest.Send(t, s.Server, "GET", signin.SignOutPath+"?logout_token="+token, ""); a.Status < 400 {
		t.Errorf("a GET is answered %d", a.Status)
	}
	s.Issuer.Rotate("ES256")
	rotated := url.Values{"logout_token": {s.Issuer.SignOutToken(0, map[string]any{"sub": "ada"})}}
	s.Issuer.Fail(openidtest.KeysPath, http.StatusBadGateway)
	a := sendSignOut(t, s.Server, rotated)
	if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), `"temporarily_unavailable"`) {
		t.Errorf("without the keys of the issuer: %d %s", a.Code, a.Body)
	}
	ada.Must("GET", "/v3/session", "")
	for range 20 {
		sendSignOut(t, s.Server, nil)
	}
	httpapitest.Equal(t, "status", sendSignOut(t, s.Server, nil).Code, http.StatusTooManyRequests)
	s.Issuer.Override(openidtest.KeysPath, nil)
	// The issuer is at another address, and is not throttled while its tokens are right.
	issuer := httpapitest.From("198.51.100.1:1", "x")
	httpapitest.Equal(t, "status", sendSignOut(t, s.Server, rotated, issuer).Code, http.StatusOK)
	ada.Ended()
	for range 30 {
		form := url.Values{"logout_token": {s.Issuer.SignOutToken(0, map[string]any{"sub": "ada"})}}
		if a := sendSignOut(t, s.Server, form, issuer); a.Code != http.StatusOK {
			t.Fatalf("a further sign-out is answered %d %s", a.Code, a.Body)
		}
	}
}
