package openid_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/openidtest"
)

func TestWrongToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault openidtest.Fault
		want  error
		word  string
	}{
		"for another client":        {openidtest.WrongAudience, openid.ErrInvalid, "audience"},
		"issued to another client":  {openidtest.WrongParty, openid.ErrInvalid, "another client"},
		"for many clients":          {openidtest.ManyAudiences, openid.ErrInvalid, "another client"},
		"of another sign-in":        {openidtest.WrongNonce, openid.ErrInvalid, "another sign-in"},
		"without a nonce":           {openidtest.NoNonce, openid.ErrInvalid, "another sign-in"},
		"of another issuer":         {openidtest.WrongIssuer, openid.ErrInvalid, "different provider"},
		"expired":                   {openidtest.Expired, openid.ErrInvalid, "expired"},
		"not valid yet":             {openidtest.NotYet, openid.ErrInvalid, "nbf"},
		"unsigned":                  {openidtest.Unsigned, openid.ErrInvalid, "algorithm"},
		"signed with the secret":    {openidtest.SignedWithSecret, openid.ErrInvalid, "algorithm"},
		"signed by an unknown key":  {openidtest.UnknownKey, openid.ErrInvalid, "signature"},
		"of an algorithm not named": {openidtest.UnnamedAlgorithm, openid.ErrInvalid, "algorithm"},
		"missing":                   {openidtest.NoToken, openid.ErrInvalid, "no ID token"},
		"not issued":                {openidtest.TokenFails, openid.ErrUnavailable, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.issuer.Misbehave(test.fault)
			_, err := s.signIn(t)
			wantError(t, err, test.want, test.word)
			s.mustSignIn(t)
		})
	}
}

// TestClock checks a token whose times do not fit the clock of the service.
func TestClock(t *testing.T) {
	t.Parallel()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	s := newSite(t, func(cfg *openid.Config) { cfg.Now = later })
	_, err := s.signIn(t)
	wantError(t, err, openid.ErrInvalid, "expired")
	s.issuer.Clock(later)
	s.mustSignIn(t)
}

func TestRotatedKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.mustSignIn(t)
	for _, algorithm := range []jose.SignatureAlgorithm{jose.ES256, jose.RS256} {
		s.issuer.Rotate(algorithm)
		s.mustSignIn(t)
	}
	s.mustSignIn(t)
	if n := s.issuer.Requests(openidtest.KeysPath); n != 3 {
		t.Errorf("%d requests for keys; want one for each key, 3", n)
	}
	if n := s.issuer.Requests(openidtest.DiscoveryPath); n != 1 {
		t.Errorf("%d discoveries; want 1", n)
	}
}

func TestDiscoveryFailsFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.issuer.Fail(openidtest.DiscoveryPath, http.StatusServiceUnavailable)
	for range 2 {
		w := httptest.NewRecorder()
		_, err := s.provider.Begin(w, httptest.NewRequest(http.MethodGet, "/", nil), "/")
		wantError(t, err, openid.ErrUnavailable, "503")
		if cookies := setCookies(w); len(cookies) > 0 {
			t.Errorf("cookies %v; want none", cookies)
		}
	}
	s.issuer.Override(openidtest.DiscoveryPath, nil)
	s.mustSignIn(t)
	if n := s.issuer.Requests(openidtest.DiscoveryPath); n != 3 {
		t.Errorf("%d discoveries; want 3", n)
	}
}

func TestWrongDiscovery(t *testing.T) {
	t.Parallel()
	const algorithms = "id_token_signing_alg_values_supported"
	for name, test := range map[string]struct {
		field string
		value any
		word  string
	}{
		"another issuer":                {"issuer", "https://evil.example", "the issuer"},
		"no issuer":                     {"issuer", nil, `the issuer ""`},
		"two slashes at the end":        {"issuer", "//", "the issuer"},
		"issuer of any length":          {"issuer", strings.Repeat("a", 10_000), "the issuer"},
		"sign-in over HTTP":             {"authorization_endpoint", "http://issuer.example/a", "https"},
		"tokens over HTTP":              {"token_endpoint", "http://issuer.example/a", "https"},
		"keys over HTTP":                {"jwks_uri", "http://issuer.example/a", "https"},
		"people over HTTP":              {"userinfo_endpoint", "http://issuer.example/a", "https"},
		"keys in a file":                {"jwks_uri", "file:///etc/passwd", "https"},
		"no keys":                       {"jwks_uri", nil, "https"},
		"no token endpoint":             {"token_endpoint", nil, "https"},
		"sign-in by a script":           {"authorization_endpoint", "javascript:alert(1)", "https"},
		"no algorithm that is accepted": {algorithms, []string{"HS256", "none"}, "algorithm"},
		"endpoint of any length":        {"jwks_uri", strings.Repeat("a", 10_000), "https"},
		"what is no list":               {algorithms, "RS256", "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.issuer.Discover(test.field, test.value)
			_, err := s.provider.Begin(
				httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "/",
			)
			wantError(t, err, openid.ErrMisconfigured, test.word)
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
	t.Run("issuer over HTTP", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, func(cfg *openid.Config) { cfg.Issuer = "http://issuer.example" })
		_, err := s.provider.Begin(
			httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "/",
		)
		wantError(t, err, openid.ErrMisconfigured, "https")
	})
}

// TestBrokenEndpoint is what each endpoint may answer, and what becomes of the sign-in.
func TestBrokenEndpoint(t *testing.T) {
	t.Parallel()
	elsewhere := openidtest.New(t)
	answers := map[string]struct {
		handler http.HandlerFunc
		word    string
	}{
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}, "500"},
		"too many requests": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, "429"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, "redirects"},
		"too much": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client leave
			_, _ = w.Write([]byte(strings.Repeat(" ", 1<<20+1)))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done() // the client reads no further
		}, "more than"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		}, ""},
		"nothing": {func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, ""},
	}
	for path, thin := range map[string]bool{
		openidtest.DiscoveryPath: false, openidtest.TokenPath: false,
		openidtest.KeysPath: false, openidtest.UserInfoPath: true,
	} {
		for name, answer := range answers {
			t.Run(path[1:]+" with "+name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, nil)
				s.issuer.Thin(thin)
				if path == openidtest.DiscoveryPath {
					s.issuer.Override(path, answer.handler)
					_, err := s.provider.Begin(
						httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "/",
					)
					wantError(t, err, openid.ErrUnavailable, answer.word)
				} else {
					started := s.begin(t, "/")
					s.issuer.Override(path, answer.handler)
					_, _, err := s.finish(t, started.back, started.cookie)
					wantError(t, err, openid.ErrUnavailable, answer.word)
				}
				s.issuer.Override(path, nil)
				s.mustSignIn(t)
				if n := elsewhere.Requests(path); n > 0 {
					t.Errorf("%d redirects were followed", n)
				}
			})
		}
	}
}

func TestWrongSecret(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *openid.Config) { cfg.ClientSecret = "another" })
	_, err := s.signIn(t)
	wantError(t, err, openid.ErrMisconfigured, "invalid_client")
	if n := s.issuer.Requests(openidtest.TokenPath); n != 1 {
		t.Errorf("%d requests for tokens; want 1", n)
	}
}

// TestObserved is what the provider reports of its issuer and its client.
func TestObserved(t *testing.T) {
	t.Parallel()
	var discoveries, clients []error
	s := newSite(t, func(cfg *openid.Config) {
		cfg.OnDiscovery = func(err error) { discoveries = append(discoveries, err) }
		cfg.OnClient = func(err error) { clients = append(clients, err) }
	})
	s.issuer.Fail(openidtest.DiscoveryPath, http.StatusBadGateway)
	err := s.provider.Discover(t.Context())
	wantError(t, err, openid.ErrUnavailable, "502")
	s.issuer.Override(openidtest.DiscoveryPath, nil)
	for range 2 {
		if err := s.provider.Discover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(discoveries) != 2 || discoveries[0] == nil || discoveries[1] != nil {
		t.Errorf("reported of discoveries: %v", discoveries)
	}
	client := s.issuer.Client()
	another := client
	another.Secret = "another"
	s.issuer.Register(another)
	if _, err := s.signIn(t); !errors.Is(err, openid.ErrMisconfigured) {
		t.Errorf("with another secret: %v", err)
	}
	s.issuer.Misbehave(openidtest.TokenFails)
	if _, err := s.signIn(t); !errors.Is(err, openid.ErrUnavailable) {
		t.Errorf("with a broken token endpoint: %v", err)
	}
	s.issuer.Register(client)
	started := s.begin(t, "/")
	query := started.back.Query()
	query.Set("code", "unknown-code") // the client is accepted nevertheless
	started.back.RawQuery = query.Encode()
	_, _, err = s.finish(t, started.back, started.cookie)
	wantError(t, err, openid.ErrInvalid, "invalid_grant")
	s.mustSignIn(t)
	if len(clients) != 3 || clients[0] == nil || clients[1] != nil || clients[2] != nil {
		t.Errorf("reported of the client: %v", clients)
	}
}

// TestSpellingOfIssuer signs in where the configuration and the issuer disagree on the last slash.
// The person is the same with both.
func TestSpellingOfIssuer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ configured, stated string }{
		"the issuer has it": {"", "/"}, "the configuration has it": {"/", ""}, "both have it": {"/", "/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(cfg *openid.Config) { cfg.Issuer += test.configured })
			s.issuer.CallItself(s.issuer.URL + test.stated)
			want := s.ada()
			want.Issuer += test.stated
			if got, err := s.signIn(t); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// TestUserInfoAdds is what comes of an ID token and a UserInfo endpoint that say different things.
func TestUserInfoAdds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token    map[string]any
		endpoint string
		mail     string
	}{
		"token first":          {map[string]any{"name": nil}, `{"sub":"ada","email":"b@example.com"}`, "ada@example.com"},
		"verified elsewhere":   {map[string]any{"email": nil}, `{"sub":"ada","email":"b@example.com","email_verified":false}`, ""},
		"unverified at last":   {map[string]any{"name": nil, "email_verified": nil}, `{"sub":"ada","email_verified":false}`, ""},
		"mail of the endpoint": {map[string]any{"email": nil}, `{"sub":"ada","email":"b@example.com"}`, "b@example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			person := openidtest.Ada
			person.Claims = test.token
			s.issuer.SignIn(person)
			s.issuer.Override(openidtest.UserInfoPath, http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(test.endpoint)) },
			))
			if got, err := s.signIn(t); err != nil || got.Mail != test.mail {
				t.Errorf("mail %q, %v; want %q", got.Mail, err, test.mail)
			}
		})
	}
}

// TestUserInfoOfAnother is a UserInfo endpoint that answers for another person.
func TestUserInfoOfAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.issuer.Thin(true)
	s.issuer.Override(openidtest.UserInfoPath, http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"sub":"eve","email":"ada@example.com"}`))
		}))
	_, err := s.signIn(t)
	wantError(t, err, openid.ErrInvalid, "another person")
}

// TestConcurrentDiscovery begins many first sign-ins at once. They share one discovery, which continues when the
// browser that began it has gone.
func TestConcurrentDiscovery(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	waiting, release := s.issuer.Hold(openidtest.DiscoveryPath)
	begin := func(ctx context.Context) error {
		_, err := s.provider.Begin(
			httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), "/",
		)
		return err
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- begin(ctx) }()
	<-waiting
	leave()
	err := <-left
	wantError(t, err, openid.ErrUnavailable, "discovery")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v does not wrap that of the context", err)
	}

	var all, started sync.WaitGroup
	for range 8 {
		started.Add(1)
		all.Go(func() {
			started.Done()
			if err := begin(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	release()
	all.Wait()
	if n := s.issuer.Requests(openidtest.DiscoveryPath); n != 1 {
		t.Errorf("%d discoveries; want 1", n)
	}
}

// TestHangingIssuer is an issuer that does not answer: the request ends with its context.
func TestHangingIssuer(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		openidtest.TokenPath, openidtest.KeysPath, openidtest.UserInfoPath,
	} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.issuer.Thin(true)
			started := s.begin(t, "/")
			waiting, _ := s.issuer.Hold(path)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			go func() {
				<-waiting
				leave()
			}()
			_, _, err := s.finishIn(ctx, t, started.back, started.cookie)
			wantError(t, err, openid.ErrUnavailable, context.Canceled.Error())
		})
	}
}
