package v3

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/httpapi/auth"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/shortlink"
	"linkledger/httpapi/v3/account"
	"linkledger/httpapi/v3/asof"
	"linkledger/httpapi/v3/bulk"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/payload"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/stats"
	"linkledger/httpapi/v3/tags"
	"linkledger/httpapi/v3/urls"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// Config of the API.
type Config struct {
	Commands *commands.Handler
	Queries  *queries.DB
	Lists    *linklist.Reader
	Calls    *commands.Calls
	Plans    map[string]domain.Plan // by name
	Auth     *auth.Authenticator
	Waiter   *catchup.Waiter

	Pseudonyms *peer.Pseudonyms // of the addresses of callers
	Proxies    peer.Proxies
	Base       shortlink.Base

	OperationTimeout time.Duration // of a change of any number of URLs
	Limits           payload.Limits
	Pages            selection.PageSizes
	RedirectStatus   int

	Now    func() time.Time
	Logger *slog.Logger
}

// API answers the calls of the API.
type API struct {
	auth    *auth.Authenticator
	account *account.Handler
	changes *bulk.Changes
	domains *domainHandler
	stats   *stats.Handler
	tags    *tags.Handler
	urls    *urls.Handler
}

// New returns the API.
func New(cfg Config) *API {
	asOf := asof.Reader{Now: cfg.Now, Waiter: cfg.Waiter}
	requests := &write.Requests{
		Commands: cfg.Commands, Plans: cfg.Plans, Pseudonyms: cfg.Pseudonyms, Proxies: cfg.Proxies, Base: cfg.Base,
	}
	changes := bulk.New(bulk.Config{
		Commands: cfg.Commands, Queries: cfg.Queries, Lists: cfg.Lists, Requests: requests, Waiter: cfg.Waiter,
		Timeout: cfg.OperationTimeout, MaxHashes: cfg.Limits.Items, MaxFailed: cfg.Pages.Max,
	})
	return &API{
		auth:    cfg.Auth,
		account: &account.Handler{Queries: cfg.Queries, Calls: cfg.Calls, Plans: cfg.Plans, AsOf: asOf},
		changes: changes,
		domains: &domainHandler{Base: cfg.Base, RedirectStatus: cfg.RedirectStatus},
		stats: &stats.Handler{
			Commands: cfg.Commands, Queries: cfg.Queries, Changes: changes, Waiter: cfg.Waiter, Pages: cfg.Pages,
		},
		tags: &tags.Handler{
			Commands: cfg.Commands, Queries: cfg.Queries, Requests: requests, Waiter: cfg.Waiter, BodyLimit: cfg.Limits.Body,
		},
		urls: &urls.Handler{
			Commands: cfg.Commands, Queries: cfg.Queries, Lists: cfg.Lists, Requests: requests, Changes: changes,
			Records: &record.Builder{Base: cfg.Base, Queries: cfg.Queries, Waiter: cfg.Waiter, Logger: cfg.Logger},
			Waiter:  cfg.Waiter, AsOf: asOf, Limits: cfg.Limits, Pages: cfg.Pages, Logger: cfg.Logger,
		},
	}
}

// Operations returns how many changes of any number of URLs an account has under way or waiting on this node.
func (a *API) Operations(account uuid.UUID) int { return a.changes.Operations(account) }
