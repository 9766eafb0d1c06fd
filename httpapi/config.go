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

	"linkledger/commands"
	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/answered"
	"linkledger/commands/audit"
	"linkledger/commands/clicklimit"
	"linkledger/commands/clicks"
	"linkledger/commands/domain"
	"linkledger/commands/metering"
	"linkledger/commands/people"
	"linkledger/commands/proofs"
	"linkledger/httpapi/agent"
	"linkledger/httpapi/openid"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/redirect"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
	"linkledger/httpapi/v3/catchup"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/linklist"
	"linkledger/queries/sessionlist"
)

// defaultRequestTimeout is the most time for a request that has been read.
const defaultRequestTimeout = 10 * time.Second

// Config of the public listener. Optional fields with a zero value get their defaults.
type Config struct {
	// API and Redirects select what is served: the API under /v3, the short links at the root, or
	// both.
	API       bool
	Redirects bool

	Commands      *commands.Handler // for the API
	Audit         *audit.Reader     // for the API
	Prover        *proofs.Prover    // for the API; nil: it proves nothing
	Queries       *queries.DB
	Lists         *linklist.Reader    // for the API
	SessionLists  *sessionlist.Reader // for the API
	Accounts      *accounts.Accounts  // for the API
	People        *people.People      // for the API
	Sessions      session.Store       // for the API
	Logins        *cache.Logins       // for the API
	RedirectCache *cache.Redirects    // for redirects
	Answered      *answered.Links     // for redirects: links that the read models lack
	Levels        redirect.Levels     // of the read models
	// ClickLimiter limits the clicks of links with a limit. Only redirects use it.
	ClickLimiter *clicklimit.Limiter
	// ClickRecorder and UsageMeter MUST run until the last request is answered.
	ClickRecorder *clicks.Recorder // for redirects
	UsageMeter    *metering.Meter  // for the API
	// Plans has the limits of accounts, by the names of plans. Accounts of other plans have no
	// limits.
	Plans map[string]domain.Plan
	// Projections waits for the read models. Only the API uses it.
	Projections catchup.Projections

	// Served is closed once the read models have the tables of this version of the program. Until
	// then each request waits for WaitTimeout, and is refused with status 503. If nil, they have.
	Served <-chan struct{}

	// SignIn has the issuer at which people sign in. If nil, nobody can.
	SignIn *SignIn

	// OperatorsURL is scheme://host[:port] of the console of operators; empty: that of the default
	// internal address.
	OperatorsURL string
	// BaseURL is scheme://host[:port] of the short links. If empty, that of the request is used.
	BaseURL string
	// VisitorKey keys the hashes of visitors and of the addresses of API callers. Their addresses
	// are never stored. It MUST have at least 16 bytes and be the same on all nodes.
	VisitorKey []byte
	// FormerVisitorKey is the former visitor key, during a rotation. It keeps the identity of
	// visitors. Optional.
	FormerVisitorKey []byte
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Origins are the origins whose pages may call the API: exact ones, or only AnyOrigin. If
	// empty, only pages of the service's own origin may.
	Origins []string
	// Agents tells people from robots. If nil, the table of the program does. Only redirects use
	// it.
	Agents *agent.List
	// Country returns the country code of an address, or an empty string if it is unknown. If nil,
	// clicks carry no country. Only redirects use it.
	Country func(netip.Addr) string

	WaitTimeout    time.Duration // the longest wait of a call for a projection; 0: 1 s
	RequestTimeout time.Duration // the most time for a request that has been read; 0: 10 s
	// OperationTimeout is the most time for a change by tags or the undoing of a batch; 0: 10 min.
	OperationTimeout time.Duration
	BodyLimit        int64 // bytes; 0: 1 MiB
	GroupLimit       int   // the most items of one batch; 0: 50
	PageSize         int   // entries of a list if the call has no limit; 0: 50
	MaxPageSize      int   // the most entries of a list; 0: 1000
	RedirectStatus   int   // 301, 302, 307 or 308; 0: 302

	// Observe is called after each request with its method ("other" for an unknown one), the
	// pattern of its route (empty if no route matched), the status and the duration. It MUST NOT
	// block. Optional.
	Observe func(method, route string, status int, took time.Duration)

	// LoginRefused is called for each call of the API that is refused because of its credentials.
	// reason is one of a small set of constants. It MUST NOT block. Optional.
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
	GroupsClaim  string             // the claim with the groups of a person; empty: none
	Groups       []access.GroupRole // what the members of groups are here
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
	setDefault(&cfg.WaitTimeout, time.Second)
	setDefault(&cfg.RequestTimeout, defaultRequestTimeout)
	setDefault(&cfg.OperationTimeout, 10*time.Minute)
	setDefault(&cfg.BodyLimit, 1<<20)
	setDefault(&cfg.GroupLimit, 50)
	setDefault(&cfg.PageSize, 50)
	setDefault(&cfg.MaxPageSize, 1000)
	setDefault(&cfg.RedirectStatus, http.StatusFound)
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
	case cfg.API && (cfg.Commands == nil || cfg.Lists == nil || cfg.Accounts == nil ||
		cfg.Logins == nil || cfg.People == nil || cfg.SessionLists == nil ||
		cfg.Sessions == nil || cfg.UsageMeter == nil || cfg.Projections.Wait == nil ||
		cfg.Projections.WaitUndelayed == nil || cfg.Projections.WaitForOthers == nil ||
		cfg.Projections.LacksEffect == nil || cfg.Projections.LastChange == nil ||
		cfg.Projections.SetAside == nil):
		return errors.New("the API needs commands, lists, accounts, people, logins, sessions, a " +
			"meter of calls and functions that wait for projections")
	case cfg.Redirects &&
		(cfg.ClickRecorder == nil || cfg.RedirectCache == nil || cfg.ClickLimiter == nil ||
			cfg.Answered == nil || cfg.Levels.Links == nil || cfg.Levels.Accounts == nil ||
			cfg.Levels.Misplaced == nil):
		return errors.New("redirects need a redirect cache, a click limiter, a click recorder, " +
			"links of the log and what compares it with the read models")
	case len(cfg.VisitorKey) < peer.MinKey,
		cfg.FormerVisitorKey != nil && len(cfg.FormerVisitorKey) < peer.MinKey:
		return fmt.Errorf("a visitor key has less than %d bytes", peer.MinKey)
	case cfg.WaitTimeout < 0 || cfg.RequestTimeout < 0 || cfg.OperationTimeout < 0 ||
		cfg.BodyLimit < 0 || cfg.GroupLimit < 0 || cfg.PageSize < 0:
		return errors.New("a timeout or limit is negative")
	case cfg.MaxPageSize < cfg.PageSize:
		return fmt.Errorf(
			"the page size %d exceeds the largest one, %d", cfg.PageSize, cfg.MaxPageSize,
		)
	case !slices.Contains([]int{301, 302, 307, 308}, cfg.RedirectStatus):
		return fmt.Errorf("redirect status %d is none of 301, 302, 307 and 308", cfg.RedirectStatus)
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
