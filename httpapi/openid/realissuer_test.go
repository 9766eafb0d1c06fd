package openid_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/text/language"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/openidtest"
)

// signedOutStorage is the storage of an issuer at which the client may lead back from a sign-out.
type signedOutStorage struct{ *storage.Storage }

// signedOutClient is a client with a URL to lead back to.
type signedOutClient struct{ op.Client }

func (signedOutClient) PostLogoutRedirectURIs() []string { return []string{signedOutURL} }

func (s signedOutStorage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	client, err := s.Storage.GetClientByClientID(ctx, id)
	return signedOutClient{client}, err
}

// newRealIssuer starts an issuer of zitadel/oidc, which others have certified. Its URL ends with a
// text. One person can sign in there with a password.
func newRealIssuer(t *testing.T, end, secret string) string {
	t.Helper()
	routes := http.NewServeMux()
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	issuer := server.URL + end
	kept := signedOutStorage{storage.NewStorageWithClients(
		storage.NewUserStore(issuer),
		map[string]*storage.Client{"linkledger": storage.WebClient("linkledger", secret, callbackURL)},
	)}
	provider, err := op.NewProvider(&op.Config{
		CryptoKey: [32]byte{1}, CodeMethodS256: true, AuthMethodPost: true,
		SupportedUILocales: []language.Tag{language.English},
	}, kept, op.StaticIssuer(issuer), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	routes.Handle("/", provider)
	callback := op.AuthCallbackURL(provider)
	routes.Handle("/login/username", op.NewIssuerInterceptor(provider.IssuerFromRequest).HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			id := r.FormValue("authRequestID")
			if err := kept.CheckUsernamePassword(r.FormValue("username"), r.FormValue("password"), id); err != nil {
				_, _ = io.WriteString(w, err.Error()) // as a page with a form
				return
			}
			http.Redirect(w, r, callback(r.Context(), id), http.StatusFound)
		},
	))
	return issuer
}

// visitReal signs the person in at a real issuer and returns where it leads the browser back to.
func visitReal(t *testing.T, location string) *url.URL {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	login := openidtest.Visit(t, browser, location)
	query := login.Query()
	query.Set("username", "test-user2")
	query.Set("password", "verysecure")
	login.RawQuery = query.Encode()
	back := openidtest.Visit(t, browser, login.String())
	return openidtest.Visit(t, browser, back.String())
}

// TestRealIssuer signs in and out at an issuer that this project has not written.
func TestRealIssuer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ end, configured, secret string }{
		"without a slash": {"", "", "secret"}, "with a slash": {"/", "/", "secret"},
		"configured without its slash": {"/", "", "secret"}, "configured with a slash": {"", "/", "secret"},
		"with a secret of signs": {"", "", "a secret: with+signs/%&="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := newRealIssuer(t, test.end, test.secret)
			s := newSite(t, func(cfg *openid.Config) {
				cfg.Issuer, cfg.ClientSecret = issuer[:len(issuer)-len(test.end)]+test.configured, test.secret
			})
			w := httptest.NewRecorder()
			location, err := s.provider.Begin(w, httptest.NewRequest(http.MethodGet, "/sign-in", nil), "/console/links")
			if err != nil {
				t.Fatal(err)
			}
			got, to, err := s.finish(t, visitReal(t, location), setCookies(w)[0])
			if err != nil || to != "/console/links" || got.Issuer != issuer || got.Subject != "id2" ||
				got.Mail != "test-user2@zitadel.ch" || got.Name != "Test User2" || !got.GroupsMissing {
				t.Fatalf("%+v, %q, %v", got, to, err)
			}
			for _, hint := range []string{s.session.IDToken, ""} {
				end := s.provider.EndURL(hint, signedOutURL)
				if back := openidtest.Visit(t, nil, end).String(); back != signedOutURL {
					t.Errorf("after the sign-out the issuer leads to %s", back)
				}
			}
		})
	}
	t.Run("with a wrong secret", func(t *testing.T) {
		t.Parallel()
		issuer := newRealIssuer(t, "", "secret")
		s := newSite(t, func(cfg *openid.Config) { cfg.Issuer, cfg.ClientSecret = issuer, "another" })
		w := httptest.NewRecorder()
		location, err := s.provider.Begin(w, httptest.NewRequest(http.MethodGet, "/sign-in", nil), "/")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = s.finish(t, visitReal(t, location), setCookies(w)[0])
		wantError(t, err, openid.ErrMisconfigured, "invalid_client")
	})
}
