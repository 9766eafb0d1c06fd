package openid_test

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/openidtest"
)

const signedOutURL = "https://links.example/console/sign-in"

// TestEndURL is where a browser goes to sign out at the issuer.
func TestEndURL(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if got := s.provider.EndURL("token", signedOutURL); got != "" {
		t.Errorf("before the discovery: %q", got)
	}
	s.issuer.Discover("end_session_endpoint", s.issuer.URL+"/end?realm=a%26b")
	s.mustSignIn(t)
	for _, token := range []string{"", s.session.IDToken} {
		end, err := url.Parse(s.provider.EndURL(token, signedOutURL))
		if err != nil {
			t.Fatal(err)
		}
		query := end.Query()
		if got := end.Scheme + "://" + end.Host + end.Path; got != s.issuer.URL+"/end" ||
			query.Get("realm") != "a&b" || query.Get("client_id") != "linkledger" ||
			query.Get("post_logout_redirect_uri") != signedOutURL || query.Get("id_token_hint") != token ||
			query.Has("id_token_hint") != (token != "") {
			t.Errorf("the browser is sent to %s", end)
		}
	}
	for name, endpoint := range map[string]any{
		"none": nil, "script": "javascript:alert(1)", "over HTTP": "http://issuer.example/end", "malformed": "https://a:b@c/%zz",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.issuer.Discover("end_session_endpoint", endpoint)
			s.mustSignIn(t)
			if got := s.provider.EndURL("", signedOutURL); got != "" {
				t.Errorf("the browser is sent to %s", got)
			}
		})
	}
}

// TestSignOutToken checks tokens in which the issuer says that a session has ended.
func TestSignOutToken(t *testing.T) {
	t.Parallel()
	type some = map[string]any
	s := newSite(t, nil)
	s.mustSignIn(t)
	session := s.session.Key
	read := func(claims some) (openid.SignOut, error) {
		return s.provider.SignOut(t.Context(), s.issuer.SignOutToken(0, claims))
	}
	for name, test := range map[string]struct {
		claims  some
		subject string
		session bool
	}{
		"a session":                 {some{"sid": s.issuer.Session()}, "", true},
		"a person":                  {some{"sub": "ada"}, "ada", false},
		"a session of a person":     {some{"sid": s.issuer.Session(), "sub": "ada"}, "ada", true},
		"for two clients":           {some{"sub": "ada", "aud": []string{"another", "linkledger"}}, "ada", false},
		"without an expiry":         {some{"sub": "ada", "exp": nil}, "ada", false},
		"of an issuer that is slow": {some{"sub": "ada", "iat": time.Now().Add(-4 * time.Minute).Unix()}, "ada", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(test.claims)
			if err != nil || got.Subject != test.subject || bytes.Equal(got.Session, session) != test.session ||
				(got.Session == nil) == test.session || got.Issuer != s.issuer.URL || len(got.ID) != 32 {
				t.Errorf("%+v, %v", got, err)
			}
			if left := time.Until(got.Expires); left < time.Minute || left > 11*time.Minute {
				t.Errorf("it expires in %s", left)
			}
		})
	}
	event := func(value any) some { return some{"sub": "ada", "events": value} }
	const name = "http://schemas.openid.net/event/backchannel-logout"
	for what, claims := range map[string]some{
		"of nobody":           {"sub": nil},
		"of an empty session": {"sid": ""},
		"without an id":       {"sub": "ada", "jti": nil},
		"id is no text":       {"sub": "ada", "jti": 7},
		"long id":             {"sub": "ada", "jti": strings.Repeat("j", 513)},
		"session is no text":  {"sub": "ada", "sid": 7},
		"long session":        {"sid": strings.Repeat("s", 513)},
		"long subject":        {"sub": strings.Repeat("s", 256)},
		"with a nonce":        {"sub": "ada", "nonce": "a"},
		"with a null nonce":   {"sub": "ada", "nonce": (*int)(nil)},
		"of an hour ago":      {"sub": "ada", "iat": time.Now().Add(-time.Hour).Unix()},
		"of the future":       {"sub": "ada", "iat": time.Now().Add(time.Hour).Unix()},
		"without a time":      {"sub": "ada", "iat": nil},
		"expired":             {"sub": "ada", "exp": time.Now().Add(-time.Hour).Unix()},
		"for another client":  {"sub": "ada", "aud": "another"},
		"of another issuer":   {"sub": "ada", "iss": "https://issuer.example"},
		"without events":      event(nil),
		"with another event":  event(some{"http://schemas.openid.net/event/other": some{}}),
		"events are a text":   event(name),
		"events are a list":   event([]string{name}),
		"the event is a text": event(some{name: "x"}),
		"the event is null":   event(some{name: nil}),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := read(claims)
			wantError(t, err, openid.ErrInvalid, "")
		})
	}
	for what, fault := range map[string]openidtest.Fault{
		"unsigned": openidtest.Unsigned, "signed by an unknown key": openidtest.UnknownKey,
		"signed with the secret": openidtest.SignedWithSecret,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := s.provider.SignOut(t.Context(), s.issuer.SignOutToken(fault, some{"sub": "ada"}))
			wantError(t, err, openid.ErrInvalid, "")
		})
	}
	for what, token := range map[string]string{"nothing": "", "no token": "a.b.c", "ID token": s.session.IDToken} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := s.provider.SignOut(t.Context(), token)
			wantError(t, err, openid.ErrInvalid, "")
		})
	}
}

// TestSignOutThatCannotBeVerified is a sign-out while the issuer does not answer.
func TestSignOutThatCannotBeVerified(t *testing.T) {
	t.Parallel()
	for _, path := range []string{openidtest.DiscoveryPath, openidtest.KeysPath} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			token := s.issuer.SignOutToken(0, map[string]any{"sub": "ada"})
			s.issuer.Fail(path, http.StatusBadGateway)
			_, err := s.provider.SignOut(t.Context(), token)
			wantError(t, err, openid.ErrUnavailable, "502")
			s.issuer.Override(path, nil)
			if _, err := s.provider.SignOut(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
}
