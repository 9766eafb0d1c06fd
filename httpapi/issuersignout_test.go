package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
)

// sendSignOut sends what an issuer sends when a session has ended there, to a node. The answer is
// none of the API.
func sendSignOut(t *testing.T, node http.Handler, form url.Values, changes ...with) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(
		t.Context(), http.MethodPost, "http://"+shortHost+signin.SignOutPath, strings.NewReader(form.Encode()),
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

// TestSignOutAtIssuerToo signs out in the console. The browser signs out at the issuer too, and
// comes back to the page that asks people to sign in.
func TestSignOutAtIssuerToo(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	client := s.issuer.Client()
	client.SignedOutURLs = []string{"http://" + shortHost + "/console/sign-in"}
	s.issuer.Register(client)
	ada, _ := s.signIn(t, openidtest.Ada)
	former := ada.copy()
	a := ada.sends("/console/sign-out", nil)
	if a.status != http.StatusOK || !strings.Contains(a.body, "You are signed out here") || strings.Contains(a.body, "Ada") {
		t.Fatalf("after the sign-out: %d %s", a.status, a.body)
	}
	equal(t, "cookies", len(ada.cookies), 0)
	former.ended()
	end, found := strings.CutPrefix(a.header.Get("Refresh"), "0; url=")
	if !found || !strings.Contains(textOf(a.body), end) {
		t.Errorf("the browser goes to %q", a.header.Get("Refresh"))
	}
	if back := openidtest.Visit(t, nil, end); back.Path != "/console/sign-in" {
		t.Errorf("the issuer leads back to %s", back)
	}
	ended := s.issuer.Ended()
	if len(ended) != 1 || len(strings.Split(ended[0].Get("id_token_hint"), ".")) != 3 {
		t.Errorf("the issuer is asked to end %v", ended)
	}

	var kept int
	if err := s.db.NewRaw("SELECT count(*) FROM linkledger_keys.sessions").Scan(withTimeout(t), &kept); err != nil || kept != 0 {
		t.Errorf("%d sessions are kept, %v", kept, err)
	}
	long := openidtest.Ada
	long.Claims = map[string]any{"much": strings.Repeat("x", 5000)} // too long for a URL
	ada, _ = s.signIn(t, long)
	answered := ada.must("DELETE", "/v3/session", "")
	if !strings.Contains(answered.body, `"sign_out_url":"`+s.issuer.URL+openidtest.EndPath+"?client_id=linkledger&") ||
		strings.Contains(answered.body, "id_token_hint") {
		t.Errorf("the call answers %s", answered.body)
	}

	owner := s.client(t, "acme")
	b := s.browser(t)
	b.signInBy(owner)
	b.leads("/console/sign-out", nil, "/console/sign-in") // a key is not known to the issuer
}

// TestSignOutWithoutPlaceAtIssuer signs out where the issuer has no place to do so.
func TestSignOutWithoutPlaceAtIssuer(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.issuer.Discover("end_session_endpoint", nil)
	ada, _ := s.signIn(t, openidtest.Ada)
	ada.leads("/console/sign-out", nil, "/console/sign-in")
	ada, _ = s.signIn(t, openidtest.Ada)
	if a := ada.must("DELETE", "/v3/session", ""); !strings.Contains(a.body, `"sign_out_url":null`) {
		t.Errorf("the call answers %s", a.body)
	}
}

// TestIDTokenIsSealed checks that nobody who reads the database reads what the issuer says of people.
func TestIDTokenIsSealed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.signIn(t, openidtest.Ada)
	var row string
	if err := s.db.NewRaw("SELECT encode(id_token, 'escape') || encode(issuer_sid, 'escape') FROM linkledger_keys.sessions").
		Scan(withTimeout(t), &row); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(row, "eyJ") || strings.Contains(row, s.issuer.Session()) {
		t.Errorf("the database has %s", row)
	}
}

// TestIssuerEndsSessions is an issuer that says which sessions have ended there. They have ended at
// all nodes.
func TestIssuerEndsSessions(t *testing.T) {
	t.Parallel()
	type some = map[string]any
	s := newSite(t, "")
	owner := s.client(t, "acme")
	eve, _ := s.signIn(t, openidtest.Person{Subject: "eve", Name: "Eve"})
	signIn := func(claims some) (*browser, string) {
		t.Helper()
		person := openidtest.Ada
		person.Claims = claims
		b, _ := s.signIn(t, person)
		return b, s.issuer.Session()
	}
	ends := func(claims some) {
		t.Helper()
		a := sendSignOut(t, s.node, url.Values{"logout_token": {s.issuer.SignOutToken(0, claims)}})
		if a.Code != http.StatusOK {
			t.Fatalf("the sign-out is answered %d %s %v", a.Code, a.Body, s.log.matching("sign-out"))
		}
	}
	lives := func(b *browser) {
		t.Helper()
		b.on(s.node).must("GET", "/v3/session", "")
	}

	first, session := signIn(nil)
	second, other := signIn(nil)
	nameless, _ := signIn(some{"sid": nil}) // the issuer says no session
	ends(some{"sid": session})
	first.ended()
	lives(second)
	lives(nameless)
	ends(some{"sid": other, "sub": "ada"})
	second.ended()
	nameless.ended()

	third, _ := signIn(nil)
	nameless, _ = signIn(some{"sid": nil})
	ends(some{"sub": "ada"})
	third.ended()
	nameless.ended()
	ends(some{"sub": "nobody"})
	ends(some{"sid": "of nobody"})
	lives(eve)
	owner.must("GET", "/v3/urls", "")

	// A token counts once, at all nodes.
	token := url.Values{"logout_token": {s.issuer.SignOutToken(0, some{"sub": "ada"})}}
	equal(t, "status", sendSignOut(t, s.handler, token).Code, http.StatusOK)
	fourth, _ := signIn(nil)
	again := sendSignOut(t, s.node, token)
	if again.Code != http.StatusBadRequest || !strings.Contains(again.Body.String(), `"invalid_request"`) {
		t.Errorf("a repeated token is answered %d %s", again.Code, again.Body)
	}
	lives(fourth)
}

// TestWrongSignOuts sends sign-outs that are none.
func TestWrongSignOuts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	ada, _ := s.signIn(t, openidtest.Ada)
	token := s.issuer.SignOutToken(0, map[string]any{"sub": "ada"})
	for name, form := range map[string]url.Values{
		"nothing": nil, "empty": {"logout_token": {""}}, "no token": {"logout_token": {"a.b.c"}},
		"two":      {"logout_token": {token, token}},
		"unsigned": {"logout_token": {s.issuer.SignOutToken(openidtest.Unsigned, map[string]any{"sub": "ada"})}},
		"too long": {"logout_token": {token}, "more": {strings.Repeat("x", 1<<17)}},
	} {
		a := sendSignOut(t, s.handler, form)
		if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), `"error":"invalid_request"`) {
			t.Errorf("%s is answered %d %s", name, a.Code, a.Body)
		}
	}
	inQuery := sendSignOut(t, s.handler, nil, func(r *http.Request) { r.URL.RawQuery = "logout_token=" + token })
	equal(t, "status of a token in the query", inQuery.Code, http.StatusBadRequest)
	if a := send(t, s.handler, "GET", signin.SignOutPath+"?logout_token="+token, ""); a.status < 400 {
		t.Errorf("a GET is answered %d", a.status)
	}
	s.issuer.Rotate("ES256")
	rotated := url.Values{"logout_token": {s.issuer.SignOutToken(0, map[string]any{"sub": "ada"})}}
	s.issuer.Fail(openidtest.KeysPath, http.StatusBadGateway)
	a := sendSignOut(t, s.handler, rotated)
	if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), `"temporarily_unavailable"`) {
		t.Errorf("without the keys of the issuer: %d %s", a.Code, a.Body)
	}
	ada.must("GET", "/v3/session", "")
	for range 20 {
		sendSignOut(t, s.handler, nil)
	}
	equal(t, "status", sendSignOut(t, s.handler, nil).Code, http.StatusTooManyRequests)
	s.issuer.Override(openidtest.KeysPath, nil)
	// The issuer is at another address, and is not throttled while its tokens are right.
	issuer := from("198.51.100.1:1", "x")
	equal(t, "status", sendSignOut(t, s.handler, rotated, issuer).Code, http.StatusOK)
	ada.ended()
	for range 30 {
		form := url.Values{"logout_token": {s.issuer.SignOutToken(0, map[string]any{"sub": "ada"})}}
		if a := sendSignOut(t, s.handler, form, issuer); a.Code != http.StatusOK {
			t.Fatalf("a further sign-out is answered %d %s", a.Code, a.Body)
		}
	}
}
