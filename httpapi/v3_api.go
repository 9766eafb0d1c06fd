package httpapi

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// Config of the API.
type APIConfig struct {
	Commands *commands.Handler
	Queries  *queries.DB
	Lists    *linklist.Reader
	Calls    *commands.Calls
	Plans    map[string]domain.Plan // by name
	Auth     *authenticator
	Waiter   *waiter

	Pseudonyms *pseudonyms // of the addresses of callers
	Proxies    proxies
	Base       shortBase

	OperationTimeout time.Duration // of a change of any number of URLs
	Limits           payloadLimits
	Pages            pageSizes
	RedirectStatus   int

	Now    func() time.Time
	Logger *slog.Logger
}

// API answers the calls of the API.
type API struct {
	auth    *authenticator
	account *accountHandler
	changes *changes
	domains *domainHandler
	stats   *statsHandler
	tags    *tagHandler
	urls    *urlHandler
}

// newAPI returns the API.
func newAPI(cfg APIConfig) *API {
	asOf := asOfReader{Now: cfg.Now, Waiter: cfg.Waiter}
	requests := &writeRequests{
		Commands: cfg.Commands, Plans: cfg.Plans, Pseudonyms: cfg.Pseudonyms, Proxies: cfg.Proxies, Base: cfg.Base,
	}
	changes := newChanges(bulkConfig{
		Commands: cfg.Commands, Queries: cfg.Queries, Lists: cfg.Lists, Requests: requests, Waiter: cfg.Waiter,
		Timeout: cfg.OperationTimeout, MaxHashes: cfg.Limits.Items, MaxFailed: cfg.Pages.Max,
	})
	return &API{
		auth:    cfg.Auth,
		account: &accountHandler{Queries: cfg.Queries, Calls: cfg.Calls, Plans: cfg.Plans, AsOf: asOf},
		changes: changes,
		domains: &domainHandler{Base: cfg.Base, RedirectStatus: cfg.RedirectStatus},
		stats: &statsHandler{
			Commands: cfg.Commands, Queries: cfg.Queries, Changes: changes, Waiter: cfg.Waiter, Pages: cfg.Pages,
		},
		tags: &tagHandler{
			Commands: cfg.Commands, Queries: cfg.Queries, Requests: requests, Waiter: cfg.Waiter, BodyLimit: cfg.Limits.Body,
		},
		urls: &urlHandler{
			Commands: cfg.Commands, Queries: cfg.Queries, Lists: cfg.Lists, Requests: requests, Changes: changes,
			Records: &records{Base: cfg.Base, Queries: cfg.Queries, Waiter: cfg.Waiter, Logger: cfg.Logger},
			Waiter:  cfg.Waiter, AsOf: asOf, Limits: cfg.Limits, Pages: cfg.Pages, Logger: cfg.Logger,
		},
	}
}

// operations returns how many changes of any number of URLs an account has under way or waiting on this node.
func (a *API) operations(account uuid.UUID) int { return a.changes.operations(account) }
