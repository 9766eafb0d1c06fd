// Package openid signs people in with OpenID Connect: by the authorization code flow with PKCE, at
// one issuer.
package openid

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"linkledger/httpapi/openid/begun"
	"linkledger/httpapi/openid/claims"
)

// MinSecret is the least length of the secret of a Provider, in bytes.
const MinSecret = 16

// Config of a Provider. Issuer, ClientID, Secret, RedirectURL, Secure and Now are required.
type Config struct {
	// Issuer is a URL that CheckIssuer accepts.
	Issuer   string
	ClientID string
	// ClientSecret is empty for a public client, which PKCE alone protects.
	ClientSecret string
	// Scopes are requested in addition to openid, profile and email.
	Scopes []string
	// GroupsClaim is the name of the claim with the groups of a person. If empty, groups are not
	// read.
	GroupsClaim string
	// Groups are the groups that identities may have. All others are left out.
	Groups []string
	// RedirectURL returns the absolute URL of the callback. It MUST be the same for the two
	// requests of a sign-in.
	RedirectURL func(*http.Request) string
	// Secure reports whether browsers reach the service over HTTPS. It decides the name of the
	// cookie and its attribute Secure.
	Secure func(*http.Request) bool
	// Secret authenticates the cookies of sign-ins. It MUST have at least MinSecret bytes, and be
	// the same wherever a sign-in may be finished.
	Secret []byte
	Now    func() time.Time
	// OnDiscovery is called after each discovery, with its error or nil. Optional.
	OnDiscovery func(error)
	// OnClient is called with an error when the issuer's token endpoint has refused the client, and
	// with nil when it has accepted the client. Optional.
	OnClient func(error)
}

// Provider signs people in at an issuer. It is safe for concurrent use.
type Provider struct {
	cfg    Config
	client *http.Client

	mu sync.Mutex
	// found is the discovery that has succeeded or is under way. It is nil before the first
	// discovery and after a failed one.
	found *discovery
}

// New returns a provider. It sends the issuer no request before Discover or the first sign-in. The
// metadata that are fetched then are used until the process ends. The keys of the issuer are
// fetched again when they change.
func New(cfg Config) *Provider {
	nobody := func(error) {}
	if cfg.OnDiscovery == nil {
		cfg.OnDiscovery = nobody
	}
	if cfg.OnClient == nil {
		cfg.OnClient = nobody
	}
	return &Provider{cfg: cfg, client: newClient()}
}

// Identity is a person as the issuer identifies them.
type Identity struct {
	// Issuer is the URL of the issuer as the issuer spells it. Issuer and Subject together identify
	// the person.
	Issuer string
	// Person has the claims about the person.
	claims.Person
	// Session is the session at the issuer.
	Session Session
}

// Begin begins a sign-in. It sets the cookie of the sign-in and returns the URL of the issuer that
// the caller MUST redirect the browser to. returnTo is where the person continues afterwards.
//
// A browser has one sign-in at a time. If two tabs begin one each, the second sets the cookie
// anew, and the callback of the first fails with ErrInvalid.
func (p *Provider) Begin(
	w http.ResponseWriter, r *http.Request, returnTo string,
) (location string, err error) {
	at, err := p.discovered(r.Context())
	if err != nil {
		return "", err
	}
	started := begun.New(returnTo, p.cfg.Now())
	value := started.Encode(p.cfg.Secret)
	http.SetCookie(w, p.cookie(r, value, int(begun.MaxAge.Seconds())))
	return p.oauth(r, at).AuthCodeURL(
		started.State, oidc.Nonce(started.Nonce), oauth2.S256ChallengeOption(started.Verifier),
	), nil
}

// Finish ends a sign-in at its callback. It always deletes the cookie of the sign-in, so each
// sign-in has one callback. A sign-in that began more than ten minutes ago fails with ErrInvalid,
// even if the browser has kept the cookie. returnTo is the path that Begin was given, or
// begun.DefaultPath if begun.LocalPath rejects that path. If there is an error, the other results
// are empty.
func (p *Provider) Finish(
	w http.ResponseWriter, r *http.Request,
) (identity Identity, returnTo string, err error) {
	http.SetCookie(w, p.cookie(r, "", -1))
	started, err := p.started(r)
	if err != nil {
		return Identity{}, "", err
	}
	answered, err := parseCallback(r.URL.RawQuery)
	if err != nil {
		return Identity{}, "", err
	}
	if !begun.Same(answered.state, started.State) {
		return Identity{}, "", fmt.Errorf("%w: the state belongs to another sign-in", ErrInvalid)
	}
	at, err := p.discovered(r.Context())
	if err != nil {
		return Identity{}, "", err
	}
	code, err := answered.accept(at.Issuer, at.IssInCallback)
	if err != nil {
		return Identity{}, "", err
	}
	identity, err = p.redeem(r, at, started, code)
	if err != nil {
		return Identity{}, "", err
	}
	return identity, started.ReturnTo, nil
}

// redeem exchanges a code for tokens and returns the identity that they state.
func (p *Provider) redeem(
	r *http.Request, at *metadata, started begun.SignIn, code string,
) (Identity, error) {
	ctx := oidc.ClientContext(r.Context(), p.client)
	tokens, err := exchange(ctx, p.oauth(r, at), code, started.Verifier)
	if err == nil || errors.Is(err, ErrInvalid) {
		p.cfg.OnClient(nil)
	} else if errors.Is(err, ErrMisconfigured) {
		p.cfg.OnClient(err)
	}
	if err != nil {
		return Identity{}, err
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return Identity{}, fmt.Errorf("%w: the issuer has sent no ID token", ErrInvalid)
	}
	stated, err := p.verify(ctx, at, raw, started.Nonce)
	if err != nil {
		return Identity{}, err
	}
	session := Session{IDToken: raw}
	if key, err := p.keyOf(at, stated, "sid"); err == nil { // a malformed id counts as none
		session.Key = key
	}
	if err := p.complete(ctx, at, tokens, stated); err != nil {
		return Identity{}, err
	}
	known, err := stated.Person(p.cfg.GroupsClaim, p.cfg.Groups)
	if err != nil {
		return Identity{}, invalid(err)
	}
	return Identity{Issuer: at.Issuer, Person: known, Session: session}, nil
}

// oauth returns the configuration of the code flow for a request.
func (p *Provider) oauth(r *http.Request, at *metadata) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail}
	for _, scope := range p.cfg.Scopes {
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Scopes: scopes,
		RedirectURL: p.cfg.RedirectURL(r),
		Endpoint: oauth2.Endpoint{
			AuthURL: at.AuthURL, TokenURL: at.TokenURL, AuthStyle: p.authStyle(at),
		},
	}
}

// authStyle returns how the client authenticates at the token endpoint. The client never tries one
// style after the other, because a code that is sent twice is refused and may end the person's
// session at the issuer.
func (p *Provider) authStyle(at *metadata) oauth2.AuthStyle {
	basic := len(at.AuthMethods) == 0 || slices.Contains(at.AuthMethods, "client_secret_basic")
	if p.cfg.ClientSecret == "" || !basic && slices.Contains(at.AuthMethods, "client_secret_post") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}
