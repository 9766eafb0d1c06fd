package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/rs/cors"

	"linkledger/commands/access"
	"linkledger/httpapi/console"
	"linkledger/httpapi/login"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/openid"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/redirect"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
	"linkledger/httpapi/signin"
	v3 "linkledger/httpapi/v3"
)

// Server serves the public listener.
type Server struct {
	cfg       Config
	origins   *cors.Cors       // for calls of the API; nil: no other origins
	anyOrigin *cors.Cors       // for the description of the API
	v3        *v3.API          // nil: not served
	api       *router.Router   // nil: not served
	pages     *console.Handler // nil: not served
	console   *router.Router   // the pages and the sign-in; nil: not served
	short     *router.Router   // nil: not served
	signIn    *signin.Handler  // nil: no sign-in with OpenID Connect
}

// WatchSignIn looks for faults that keep people from signing in, until ctx ends.
func (s *Server) WatchSignIn(ctx context.Context) {
	if s.signIn != nil {
		s.signIn.Watch(ctx)
	}
}

// SignInFault returns the fault that keeps people from signing in until an operator mends it, or
// nil if none is known. offered says whether people can sign in with OpenID Connect at all.
func (s *Server) SignInFault() (fault error, offered bool) {
	if s.signIn == nil {
		return nil, false
	}
	return s.signIn.Fault(), true
}

// Pages returns the pages of the console, or nil if they are not served.
func (s *Server) Pages() *console.Handler { return s.pages }

// New returns the server of the public listener, or an error if the configuration is invalid.
func New(cfg Config) (*Server, error) {
	cfg.setDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("HTTP API: %w", err)
	}
	s := &Server{cfg: cfg}
	current := peer.NewPseudonyms(cfg.VisitorKey)
	if cfg.API {
		docs, err := openapi.Routes()
		if err != nil {
			return nil, fmt.Errorf("HTTP API: %w", err)
		}
		s.origins, s.anyOrigin = newCORS(cfg.Origins), newCORS([]string{AnyOrigin})
		sessions, err := cfg.newSessions(current)
		if err != nil {
			return nil, fmt.Errorf("HTTP API: %w", err)
		}
		s.v3 = cfg.newAPI(current, sessions)
		s.api = router.New(append(s.v3.Routes(), docs...), v3.Options)
		if s.console, err = s.newConsole(sessions); err != nil {
			return nil, fmt.Errorf("HTTP API: %w", err)
		}
	}
	if cfg.Redirects {
		visits, err := cfg.newRedirects(current)
		if err != nil {
			return nil, fmt.Errorf("HTTP API: %w", err)
		}
		s.short = router.New(visits.Routes(), redirect.Options)
	}
	return s, nil
}

// newConsole sets s.pages, and returns the routes of the console and of the sign-in. The console
// makes its calls of the API in this process.
func (s *Server) newConsole(sessions *session.Sessions) (*router.Router, error) {
	cfg := console.Config{
		API: http.HandlerFunc(s.serveOwnCall), Sessions: sessions,
		Base: shortlink.Base(s.cfg.BaseURL), Operators: s.cfg.OperatorsURL,
		Shown: s.v3.Shows, Logger: s.cfg.Logger,
	}
	var routes []router.Route
	if s.cfg.SignIn != nil {
		cfg.OpenID = signin.BeginPath
		s.signIn = s.cfg.newSignIn(sessions, s.v3)
		sessions.EndURL = s.signIn.EndURL
		routes = s.signIn.Routes()
	}
	var err error
	if s.pages, err = console.New(cfg); err != nil {
		return nil, err
	}
	return router.New(append(routes, s.pages.Routes()...), v3.Options), nil
}

func (cfg *Config) newSessions(addresses *peer.Pseudonyms) (*session.Sessions, error) {
	origins := http.NewCrossOriginProtection()
	if cfg.BaseURL != "" {
		if err := origins.AddTrustedOrigin(cfg.BaseURL); err != nil {
			return nil, err
		}
	}
	return &session.Sessions{
		Store: cfg.Sessions, Queries: cfg.Queries, Pseudonyms: addresses,
		Proxies: cfg.TrustedProxies, Base: shortlink.Base(cfg.BaseURL), Origins: origins,
		Guard: login.New(login.Config{
			Refused: cfg.LoginRefused, Proxies: cfg.TrustedProxies, Now: cfg.Now,
			Logger: cfg.Logger,
		}),
		Now: cfg.Now, Logger: cfg.Logger,
	}, nil
}

func (cfg *Config) newSignIn(sessions *session.Sessions, api *v3.API) *signin.Handler {
	base := shortlink.Base(cfg.BaseURL)
	return signin.New(signin.Config{
		OpenID: openid.Config{
			Issuer: cfg.SignIn.Issuer, ClientID: cfg.SignIn.ClientID,
			ClientSecret: cfg.SignIn.ClientSecret, Scopes: cfg.SignIn.Scopes,
			GroupsClaim: cfg.SignIn.GroupsClaim, Groups: access.GroupNames(cfg.SignIn.Groups),
			Secret:      cfg.SignIn.Secret,
			RedirectURL: func(r *http.Request) string { return base.Of(r) + signin.CallbackPath },
			Secure:      func(r *http.Request) bool { return session.IsSecure(base, r) },
			Now:         cfg.Now,
		},
		People: cfg.People, Accounts: cfg.Accounts, Queries: cfg.Queries, Sessions: sessions,
		Groups: cfg.SignIn.Groups, AskPath: console.SignInPath,
		AwaitAccounts: api.AwaitAccounts, Base: base,
		Proxies: cfg.TrustedProxies, Now: cfg.Now, Refused: cfg.LoginRefused,
		Logger: cfg.Logger,
	})
}

func (cfg *Config) newAPI(addresses *peer.Pseudonyms, sessions *session.Sessions) *v3.API {
	return v3.New(v3.Config{
		Writes: cfg.Writes, Reads: cfg.Reads, Webhooks: cfg.Webhooks, Usage: cfg.Usage,
		Limits:      cfg.Limits,
		Projections: cfg.Projections, Sessions: sessions, Clicks: cfg.Visits.Clicks,
		Pseudonyms: addresses, Proxies: cfg.TrustedProxies, Base: shortlink.Base(cfg.BaseURL),
		RedirectStatus: cfg.RedirectStatus, KeyUsed: cfg.KeyUsed, Now: cfg.Now, Logger: cfg.Logger,
	})
}

func (cfg *Config) newRedirects(visitors *peer.Pseudonyms) (*redirect.Handler, error) {
	var former *peer.Pseudonyms
	if cfg.FormerVisitorKey != nil {
		former = peer.NewPseudonyms(cfg.FormerVisitorKey)
	}
	return redirect.New(redirect.Config{
		Parts: cfg.Visits,

		Pseudonyms: visitors, Former: former, Proxies: cfg.TrustedProxies, Country: cfg.Country,
		Agents: cfg.Agents,

		Base:    shortlink.Base(cfg.BaseURL),
		Status:  cfg.RedirectStatus,
		Timeout: cfg.RequestTimeout,
		Now:     cfg.Now,
	})
}
