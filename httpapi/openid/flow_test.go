package openid_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/begun"
	"linkledger/httpapi/openid/claims"
	"linkledger/httpapi/openid/openidtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const callbackURL = "https://links.example/callback"

// site is a service that signs people in at an issuer of its own.
type site struct {
	issuer   *openidtest.Issuer
	provider *openid.Provider
	secret   string
	session  openid.Session // of the last sign-in
}

// newSite returns a site with a configuration that change may change.
func newSite(t *testing.T, change func(*openid.Config)) *site {
	t.Helper()
	at := openidtest.New(t)
	client := at.Client()
	client.RedirectURLs = []string{callbackURL}
	at.Register(client)
	cfg := openid.Config{
		Issuer: at.URL, ClientID: client.ID, ClientSecret: client.Secret, GroupsClaim: "groups",
		Groups:      openidtest.Ada.Groups,
		RedirectURL: func(*http.Request) string { return callbackURL },
		Secure:      func(*http.Request) bool { return true },
		Secret:      []byte("sixteen bytes or"),
		Now:         time.Now,
	}
	if change != nil {
		change(&cfg)
	}
	return &site{issuer: at, provider: openid.New(cfg), secret: client.Secret}
}

// signIn is a sign-in on its way back from the issuer.
type signIn struct {
	back   *url.URL
	cookie *http.Cookie
}

// setCookies returns the cookies that an answer sets.
func setCookies(w http.ResponseWriter) []*http.Cookie {
	return (&http.Response{Header: w.Header()}).Cookies()
}

// begin begins a sign-in and visits the issuer.
func (s *site) begin(t *testing.T, returnTo string) signIn {
	t.Helper()
	w := httptest.NewRecorder()
	location, err := s.provider.Begin(
		w, httptest.NewRequest(http.MethodGet, "https://links.example/sign-in", nil), returnTo,
	)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	cookies := setCookies(w)
	if len(cookies) != 1 {
		t.Fatalf("%d cookies; want 1", len(cookies))
	}
	return signIn{openidtest.Visit(t, nil, location), cookies[0]}
}

// finish opens the callback with cookies. It checks that the cookie is deleted and that an error
// tells no secret.
func (s *site) finish(
	t *testing.T, back *url.URL, cookies ...*http.Cookie,
) (openid.Identity, string, error) {
	t.Helper()
	return s.finishIn(t.Context(), t, back, cookies...)
}

// finishIn is finish in a context.
func (s *site) finishIn(
	ctx context.Context, t *testing.T, back *url.URL, cookies ...*http.Cookie,
) (openid.Identity, string, error) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, back.String(), nil)
	for _, cookie := range cookies {
		r.AddCookie(cookie)
	}
	identity, returnTo, err := s.provider.Finish(w, r)
	s.session, identity.Session = identity.Session, openid.Session{}
	deleted := setCookies(w)
	if len(deleted) != 1 || deleted[0].MaxAge >= 0 || deleted[0].Value != "" || deleted[0].Path != "/" {
		t.Errorf("Finish sets %v; want one cookie deleted", deleted)
	}
	if err != nil {
		secrets := []string{s.secret, url.QueryEscape(s.secret), back.Query().Get("code")}
		for _, cookie := range cookies {
			secrets = append(secrets, strings.Split(cookie.Value, ".")...)
		}
		for _, secret := range secrets {
			if len(secret) > 9 && strings.Contains(err.Error(), secret) {
				t.Errorf("error %q tells %q", err, secret)
			}
		}
		if !reflect.DeepEqual(identity, openid.Identity{}) || returnTo != "" {
			t.Errorf("with an error come %v and %q", identity, returnTo)
		}
	}
	return identity, returnTo, err
}

// signIn signs a person in.
func (s *site) signIn(t *testing.T) (openid.Identity, error) {
	t.Helper()
	started := s.begin(t, "/console")
	identity, _, err := s.finish(t, started.back, started.cookie)
	return identity, err
}

// ada is Ada as her issuer describes her.
func (s *site) ada() openid.Identity {
	return openid.Identity{
		Issuer: s.issuer.URL,
		Person: claims.Person{
			Subject: openidtest.Ada.Subject, Mail: openidtest.Ada.Mail, Name: openidtest.Ada.Name,
			Groups: openidtest.Ada.Groups,
		},
	}
}

// mustSignIn signs Ada in.
func (s *site) mustSignIn(t *testing.T) {
	t.Helper()
	if got, err := s.signIn(t); err != nil || !reflect.DeepEqual(got, s.ada()) {
		t.Errorf("%+v, %v; want %+v", got, err, s.ada())
	}
}

// wantError checks that an error is one of the package, with a word.
func wantError(t *testing.T, err, want error, word string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), word) {
		t.Errorf("error %v; want %v with %q", err, want, word)
	}
	for _, other := range []error{openid.ErrUnavailable, openid.ErrMisconfigured, openid.ErrRefused, openid.ErrInvalid} {
		if !errors.Is(other, want) && errors.Is(err, other) {
			t.Errorf("error %v is %v too", err, other)
		}
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	const methods = "token_endpoint_auth_methods_supported"
	for name, prepare := range map[string]func(*openidtest.Issuer){
		"with a secret":               func(*openidtest.Issuer) {},
		"with no methods named":       func(at *openidtest.Issuer) { at.Discover(methods, []string{"client_secret_basic"}) },
		"with a secret in the body":   func(at *openidtest.Issuer) { at.Discover(methods, []string{"client_secret_post"}) },
		"with ES256":                  func(at *openidtest.Issuer) { at.Rotate(jose.ES256) },
		"without claims in the token": func(at *openidtest.Issuer) { at.Thin(true) },
		"without a UserInfo endpoint": func(at *openidtest.Issuer) { at.Discover("userinfo_endpoint", nil) },
		"without algorithms named": func(at *openidtest.Issuer) {
			at.Discover("id_token_signing_alg_values_supported", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			prepare(s.issuer)
			started := s.begin(t, "/console/links?tag=a%20b")
			got, returnTo, err := s.finish(t, started.back, started.cookie)
			if err != nil || !reflect.DeepEqual(got, s.ada()) || returnTo != "/console/links?tag=a%20b" {
				t.Errorf("%+v, %q, %v; want %+v", got, returnTo, err, s.ada())
			}
			if n := s.issuer.Requests(openidtest.TokenPath); n != 1 {
				t.Errorf("%d requests for tokens; want 1", n)
			}
		})
	}
	t.Run("as a public client", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, func(cfg *openid.Config) { cfg.ClientSecret = "" })
		client := s.issuer.Client()
		client.Secret = ""
		s.issuer.Register(client)
		s.mustSignIn(t)
	})
}

func TestRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *openid.Config) { cfg.Scopes = []string{"groups", "email"} })
	seen := make(map[string]bool)
	for range 2 {
		location, err := s.provider.Begin(
			httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/sign-in", nil), "/",
		)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := url.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		query := parsed.Query()
		if got, want := query.Get("scope"), "openid profile email groups"; got != want {
			t.Errorf("scope %q; want %q", got, want)
		}
		for _, name := range []string{"state", "nonce", "code_challenge"} {
			if value := query.Get(name); len(value) != 43 || seen[value] {
				t.Errorf("%s %q is not 256 new bits", name, value)
			}
			seen[query.Get(name)] = true
		}
	}
}

func TestCookie(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		secure bool
		want   string
	}{
		"over HTTPS":  {true, "__Host-linkledger-signin"},
		"on loopback": {false, "linkledger-signin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(cfg *openid.Config) {
				cfg.Secure = func(*http.Request) bool { return test.secure }
			})
			started := s.begin(t, "/")
			cookie := *started.cookie
			cookie.Value, cookie.Raw = "", ""
			want := http.Cookie{
				Name: test.want, Path: "/", MaxAge: 600, Secure: test.secure, HttpOnly: true,
				SameSite: http.SameSiteLaxMode,
			}
			if !reflect.DeepEqual(cookie, want) {
				t.Errorf("cookie %v; want %v", cookie, want)
			}
			if _, _, err := s.finish(t, started.back, started.cookie); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReturnsToLocalPath(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	started := s.begin(t, "//evil.example/")
	if _, returnTo, err := s.finish(t, started.back, started.cookie); err != nil ||
		returnTo != begun.DefaultPath {
		t.Errorf("%q, %v; want %q", returnTo, err, begun.DefaultPath)
	}
}

func TestCallback(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(url.Values) {
		return func(query url.Values) { query.Set(name, value) }
	}
	remove := func(name string) func(url.Values) {
		return func(query url.Values) { query.Del(name) }
	}
	repeat := func(name string) func(url.Values) {
		return func(query url.Values) { query.Add(name, query.Get(name)) }
	}
	for name, test := range map[string]struct {
		change func(url.Values)
		word   string
	}{
		"wrong state":   {set("state", strings.Repeat("A", 43)), "state"},
		"short state":   {set("state", "A"), "state"},
		"no state":      {remove("state"), "state"},
		"two states":    {repeat("state"), "repeats state"},
		"two codes":     {repeat("code"), "repeats code"},
		"no code":       {remove("code"), "no code"},
		"unknown code":  {set("code", "unknown-code"), "invalid_grant"},
		"wrong issuer":  {set("iss", "https://evil.example"), "another issuer"},
		"no issuer":     {remove("iss"), "another issuer"},
		"foreign error": {func(query url.Values) { query.Del("state"); query.Set("error", "access_denied") }, "state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			started := s.begin(t, "/")
			query := started.back.Query()
			test.change(query)
			started.back.RawQuery = query.Encode()
			_, _, err := s.finish(t, started.back, started.cookie)
			wantError(t, err, openid.ErrInvalid, test.word)
			if n := s.issuer.Requests(openidtest.TokenPath); n > 0 && name != "unknown code" {
				t.Errorf("%d requests for tokens", n)
			}
		})
	}
	t.Run("malformed query", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		started := s.begin(t, "/")
		started.back.RawQuery += "&x=%zz"
		_, _, err := s.finish(t, started.back, started.cookie)
		wantError(t, err, openid.ErrInvalid, "malformed")
	})
	t.Run("issuer that does not name itself", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		s.issuer.Discover("authorization_response_iss_parameter_supported", nil)
		started := s.begin(t, "/")
		query := started.back.Query()
		query.Del("iss")
		started.back.RawQuery = query.Encode()
		if _, _, err := s.finish(t, started.back, started.cookie); err != nil {
			t.Error(err)
		}
	})
}

func TestCookieOfCallback(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cookies func(own, other *http.Cookie) []*http.Cookie
		word    string
	}{
		"none":      {func(_, _ *http.Cookie) []*http.Cookie { return nil }, "has not begun"},
		"another":   {func(_, other *http.Cookie) []*http.Cookie { return []*http.Cookie{other} }, "state"},
		"two":       {func(own, other *http.Cookie) []*http.Cookie { return []*http.Cookie{own, other} }, "several"},
		"malformed": {func(own, _ *http.Cookie) []*http.Cookie { own.Value += "A"; return []*http.Cookie{own} }, "malformed"},
		// The name without the prefix is one that a network can plant.
		"unprotected": {func(own, _ *http.Cookie) []*http.Cookie {
			own.Name = "linkledger-signin"
			return []*http.Cookie{own}
		}, "has not begun"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			started, other := s.begin(t, "/"), s.begin(t, "/")
			_, _, err := s.finish(t, started.back, test.cookies(started.cookie, other.cookie)...)
			wantError(t, err, openid.ErrInvalid, test.word)
		})
	}
}

// TestTwoTabs is two sign-ins in one browser: the second takes the place of the first.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	first, second := s.begin(t, "/console/first"), s.begin(t, "/console/second")
	if first.cookie.Name != second.cookie.Name {
		t.Fatalf("cookies %s and %s", first.cookie.Name, second.cookie.Name)
	}
	_, _, err := s.finish(t, first.back, second.cookie)
	wantError(t, err, openid.ErrInvalid, "state")
	if _, returnTo, err := s.finish(t, second.back, second.cookie); err != nil || returnTo != "/console/second" {
		t.Errorf("%q, %v", returnTo, err)
	}
}

// TestStolenCode is a code that an attacker has seen and brings with a sign-in of their own.
func TestStolenCode(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	victim, attacker := s.begin(t, "/"), s.begin(t, "/")
	query := attacker.back.Query()
	query.Set("code", victim.back.Query().Get("code"))
	attacker.back.RawQuery = query.Encode()
	_, _, err := s.finish(t, attacker.back, attacker.cookie)
	wantError(t, err, openid.ErrInvalid, "invalid_grant")
}

func TestCodeTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	started := s.begin(t, "/")
	if _, _, err := s.finish(t, started.back, started.cookie); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.finish(t, started.back, started.cookie)
	wantError(t, err, openid.ErrInvalid, "invalid_grant")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ code, want string }{
		"declined":      {"access_denied", "access_denied"},
		"extension":     {"interaction_required", "interaction_required"},
		"text":          {"<b>call 555</b>", "unknown"},
		"lines":         {"a\r\nb", "unknown"},
		"trailing line": {"access_denied\n", "unknown"},
		"long":          {strings.Repeat("a", 65), "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.issuer.Refuse(test.code)
			_, err := s.signIn(t)
			wantError(t, err, openid.ErrRefused, ": "+test.want)
			if refused, ok := errors.AsType[*openid.RefusedError](err); !ok || refused.Code != test.want {
				t.Errorf("error %v; want code %s", err, test.want)
			}
			s.mustSignIn(t)
		})
	}
	for _, code := range []string{"server_error", "temporarily_unavailable"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.issuer.Refuse(code)
			_, err := s.signIn(t)
			wantError(t, err, openid.ErrUnavailable, code)
		})
	}
}
