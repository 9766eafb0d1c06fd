package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/clicklimit"
	"linkledger/commands/clicks"
	"linkledger/commands/domain"
	"linkledger/commands/metering"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/shortlink"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/linklist"
)

// Config of the public listener. Zero values of the optional fields mean their defaults.
type Config struct {
	// API and Redirects say what is served: the API under /v3, the short links at the root, or
	// both.
	API       bool
	Redirects bool

	Commands *commands.Handler // for the API
	Audit    *audit.Reader     // for the API
	Queries  *queries.DB
	Lists    *linklist.Reader // for the API
	Accounts *cache.Accounts  // for the API
	Targets  *cache.Redirects // for redirects
	// Allowances are for redirects to links with a limit.
	Allowances *clicklimit.Limiter
	Clicks     *clicks.Recorder // for redirects; its Run goes on until the last request is answered
	Calls      *metering.Meter  // for the API, likewise
	// Plans are the limits of accounts by the names of their plans; the others have none.
	Plans map[string]domain.Plan
	// Wait returns when a projection has passed a commit position, or with the error of ctx, or
	// with progress.ErrUnowned. For the API.
	Wait func(ctx context.Context, projection string, position uint64) error
	// Demand is Wait for what the projector may hold back. For the API.
	Demand func(ctx context.Context, projection string, position uint64) error
	// Overtake returns when a projection has what others are known to have, or with the error of
	// ctx. For the API.
	Overtake func(ctx context.Context, projection string, others ...string) error

	// BaseURL is scheme://host[:port] of the short links. Empty: that of the request.
	BaseURL string
	// VisitorKey keys the hashes that stand for visitors and for the addresses of API callers,
	// which are never stored themselves. At least 16 bytes, the same on all nodes.
	VisitorKey []byte
	// FormerVisitorKey is the key before, while visitors are to be known under both; nil: none.
	FormerVisitorKey []byte
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Origins are those whose pages may call the API: exact ones, or AnyOrigin alone. Empty: none
	// but the service's own.
	Origins []string
	// Country returns the code of the country of an address, empty if that is unknown; nil: clicks
	// carry none. For redirects.
	Country func(netip.Addr) string

	WaitTimeout    time.Duration // most a write waits for the read models; 0: 1 s
	RequestTimeout time.Duration // most a request takes once it has been read; 0: 10 s
	// OperationTimeout is the most that a change of all URLs with certain tags takes; 0: 10 min.
	OperationTimeout time.Duration
	BodyLimit        int64 // bytes; 0: 1 MiB
	GroupLimit       int   // items of one batch; 0: 50
	PageSize         int   // URLs of a list without limit; 0: 50
	MaxPageSize      int   // URLs of a list at most; 0: 1000
	RedirectStatus   int   // 301, 302, 307 or 308; 0: 302

	// Observe learns of each request that was answered: its method ("other" for an unknown one),
	// the pattern of its route (empty if it has none), the status and how long it took. It must not
	// block; may be nil.
	Observe func(method, route string, status int, took time.Duration)

	// LoginRefused learns of each call of the API that was refused for its credentials, and of the
	// reason, one of a few words. It must not block; may be nil.
	LoginRefused func(reason string)

	// Tracer of requests; nil: they are not traced.
	Tracer trace.Tracer
	// LogRequests says which requests are logged once they are answered; empty: LogAPI.
	LogRequests RequestLog

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil discards
}

// RequestLog says which requests are logged.
type RequestLog string

// The kinds of requests that are logged.
const (
	LogNone RequestLog = "none"
	LogAPI  RequestLog = "api" // calls of the API
	LogAll  RequestLog = "all" // those and the visits of short links
)

func (cfg *Config) setDefaults() {
	setDefault(&cfg.LogRequests, LogAPI)
	setDefault(&cfg.WaitTimeout, time.Second)
	setDefault(&cfg.RequestTimeout, 10*time.Second)
	setDefault(&cfg.OperationTimeout, 10*time.Minute)
	setDefault(&cfg.BodyLimit, 1<<20)
	setDefault(&cfg.GroupLimit, 50)
	setDefault(&cfg.PageSize, 50)
	setDefault(&cfg.MaxPageSize, 1000)
	setDefault(&cfg.RedirectStatus, http.StatusFound)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Observe == nil {
		cfg.Observe = func(string, string, int, time.Duration) {}
	}
	if cfg.LoginRefused == nil {
		cfg.LoginRefused = func(string) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
}

func (cfg *Config) check() error {
	switch {
	case !cfg.API && !cfg.Redirects:
		return errors.New("neither the API nor redirects are to be served")
	case cfg.Queries == nil:
		return errors.New("no queries")
	case cfg.API && (cfg.Commands == nil || cfg.Lists == nil || cfg.Accounts == nil ||
		cfg.Calls == nil || cfg.Wait == nil || cfg.Demand == nil || cfg.Overtake == nil):
		return errors.New(
			"the API needs commands, lists, accounts, a meter of calls and a way to wait for the " +
				"read models",
		)
	case cfg.Redirects && (cfg.Clicks == nil || cfg.Targets == nil || cfg.Allowances == nil):
		return errors.New("redirects need targets, allowances and a recorder of clicks")
	case len(cfg.VisitorKey) < peer.MinKey, cfg.FormerVisitorKey != nil &&
		len(cfg.FormerVisitorKey) < peer.MinKey:
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
