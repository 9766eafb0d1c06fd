package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"linkledger/commands/access"
	"linkledger/httpapi/agent"
	"linkledger/httpapi/openid"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/redirect"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
	v3 "linkledger/httpapi/v3"
	"linkledger/httpapi/v3/catchup"
)

// defaultRequestTimeout is how long a request may take after its body has been read.
const defaultRequestTimeout = 10 * time.Second

// Config of the public listener. Optional fields with a zero value get their defaults.
type Config struct {
	// API and Redirects select what is served: the API under /v3, the short links at the root, or
	// both.
	API       bool
	Redirects bool

	v3.Writes   // for the API
	v3.Reads    // for the API; Queries is required in any case
	v3.Webhooks // for the API
	v3.Usage    // for the API
	v3.Limits

	Sessions session.Store  // for the API
	Visits   redirect.Parts // for redirects
	// Projections waits for the read models. Only the API uses it.
	Projections catchup.Projections

	// Served is closed once the read models have the tables of this version of the program. Until
	// then each request waits for WaitTimeout at most, and is then refused with status 503. If
	// Served is nil, the read models have these tables.
	Served <-chan struct{}

	// SignIn has the issuer at which people sign in. If nil, people cannot sign in with OpenID
	// Connect.
	SignIn *SignIn

	// OperatorsURL is scheme://host[:port] of the console of operators. If empty, it is
	// http://127.0.0.1:8081.
	OperatorsURL string
	// BaseURL is scheme://host[:port] of the short links. If empty, it is taken from the request.
	BaseURL string
	// VisitorKey is the key of the hashes that are stored instead of the addresses of visitors and
	// of API callers. It MUST have at least 16 bytes and be the same on all nodes.
	VisitorKey []byte
	// FormerVisitorKey is the former visitor key, during a rotation. With it, visitors who were
	// counted under the former key do not count as new. Optional.
	FormerVisitorKey []byte
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Origins are the origins whose pages may call the API, or AnyOrigin alone. If empty, only
	// pages of the service's own origin may call the API.
	Origins []string
	// Agents tells people from robots. If nil, the built-in table of the program does. Only
	// redirects use Agents.
	Agents *agent.List
	// Country returns the country code of an address, or an empty string if it is unknown. If nil,
	// clicks carry no country. Only redirects use it.
	Country func(netip.Addr) string

	RequestTimeout time.Duration // how long a request may take after its body was read; 0: 10 s
	RedirectStatus int           // 301, 302, 307 or 308; 0: 302

	// Observe is called after each request with its method ("other" for an unknown one), the
	// pattern of its route (empty if no route matched), the status and the duration. It MUST NOT
	// block. Optional.
	Observe func(method, route string, status int, took time.Duration)

	// LoginRefused is called for each login that is refused: by API key, session, one-time link or
	// OpenID Connect. reason is one of a small set of constants. It MUST NOT block. Optional.
	LoginRefused func(reason string)
	// KeyUsed is called for each call of the API that is accepted, with the id of its key. It MUST
	// NOT block. Optional.
	KeyUsed func(account uuid.UUID, key string)

	// Tracer traces requests. Optional.
	Tracer trace.Tracer
	// LogRequests selects the requests that are logged. If empty, it is LogAPI.
	LogRequests RequestLog

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards
}

// SignIn configures how people sign in with OpenID Connect.
type SignIn struct {
	Issuer       string // URL
	ClientID     string
	ClientSecret string             // empty: a public client
	Scopes       []string           // beyond openid, profile and email
	GroupsClaim  string             // the claim that has the groups of a person; empty: none
	Groups       []access.GroupRole // the roles that groups give their members
	// Secret authenticates the cookies of sign-ins that are under way. It MUST have at least 16
	// bytes and be the same on all nodes, because any node finishes a sign-in.
	Secret []byte
}

// RequestLog selects the requests that are logged.
type RequestLog string

// The kinds of requests that are logged.
const (
	LogNone RequestLog = "none"
	LogAPI  RequestLog = "api" // calls of the API
	LogAll  RequestLog = "all" // calls of the API and visits of short links
)

func (cfg *Config) setDefaults() {
	setDefault(&cfg.OperatorsURL, "http://127.0.0.1:8081")
	setDefault(&cfg.LogRequests, LogAPI)
	setDefault(&cfg.RequestTimeout, defaultRequestTimeout)
	setDefault(&cfg.RedirectStatus, http.StatusFound)
	cfg.SetDefaultLimits()
	if cfg.Agents == nil {
		cfg.Agents = agent.NewList()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Observe == nil {
		cfg.Observe = func(string, string, int, time.Duration) {}
	}
	if cfg.LoginRefused == nil {
		cfg.LoginRefused = func(string) {}
	}
	if cfg.KeyUsed == nil {
		cfg.KeyUsed = func(uuid.UUID, string) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
}

func (cfg *Config) check() error {
	switch {
	case !cfg.API && !cfg.Redirects:
		return errors.New("the configuration serves neither the API nor redirects")
	case cfg.Queries == nil:
		return errors.New("no queries")
	case cfg.API && (!cfg.Writes.Complete() || !cfg.Reads.Complete() ||
		!cfg.Webhooks.Complete() || cfg.Sessions == nil || cfg.UsageMeter == nil ||
		!cfg.Projections.Complete()):
		return errors.New("the API needs commands, lists, accounts, people, webhooks, logins, " +
			"sessions, a meter of calls and functions that wait for projections")
	case cfg.Redirects && !cfg.Visits.Complete():
		return errors.New("redirects need a redirect cache, a click limiter, a click recorder, " +
			"links of the log and functions that compare the log with the read models")
	case len(cfg.VisitorKey) < peer.MinKey,
		cfg.FormerVisitorKey != nil && len(cfg.FormerVisitorKey) < peer.MinKey:
		return fmt.Errorf("a visitor key has less than %d bytes", peer.MinKey)
	case cfg.RequestTimeout < 0:
		return errors.New("a timeout or limit is negative")
	case !slices.Contains([]int{301, 302, 307, 308}, cfg.RedirectStatus):
		return fmt.Errorf("redirect status %d is not 301, 302, 307 or 308", cfg.RedirectStatus)
	}
	if err := cfg.CheckLimits(); err != nil {
		return err
	}
	if cfg.SignIn != nil {
		if err := openid.CheckIssuer(cfg.SignIn.Issuer); err != nil {
			return err
		}
		if len(cfg.SignIn.Secret) < openid.MinSecret {
			return fmt.Errorf("the secret of sign-ins has less than %d bytes", openid.MinSecret)
		}
	}
	if err := CheckOrigins(cfg.Origins); err != nil {
		return fmt.Errorf("origins: %w", err)
	}
	return shortlink.Base(cfg.BaseURL).Check()
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
