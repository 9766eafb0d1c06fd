// Package v3 is version 3 of the REST API. It has the routes and the checks that every call passes
// before its handler runs, and it connects the packages below it. Most of these packages handle the
// calls about one thing, such as keys or tags.
package v3

import (
	"context"

	"github.com/google/uuid"

	"linkledger/httpapi/auth"
	"linkledger/httpapi/request"
	"linkledger/httpapi/v3/account"
	"linkledger/httpapi/v3/activity"
	"linkledger/httpapi/v3/asof"
	"linkledger/httpapi/v3/bulk"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/keys"
	"linkledger/httpapi/v3/members"
	"linkledger/httpapi/v3/payload"
	proofcalls "linkledger/httpapi/v3/proofs"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/sessions"
	"linkledger/httpapi/v3/stats"
	"linkledger/httpapi/v3/tags"
	"linkledger/httpapi/v3/urls"
	"linkledger/httpapi/v3/webhooks"
	"linkledger/httpapi/v3/write"
	"linkledger/queries/cache"
)

// API serves the calls of the API.
type API struct {
	auth     *auth.Authenticator
	waiter   *catchup.Waiter
	account  *account.Handler
	activity *activity.Handler
	changes  *bulk.Changes
	domains  *domainHandler
	keys     *keys.Handler
	members  *members.Handler
	proofs   *proofcalls.Handler
	sessions *sessions.Handler
	stats    *stats.Handler
	tags     *tags.Handler
	urls     *urls.Handler
	webhooks *webhooks.Handler
}

// New returns the API.
func New(cfg Config) *API {
	waiter := &catchup.Waiter{
		Projections: cfg.Projections,
		Clicks:      cfg.Clicks, Timeout: cfg.WaitTimeout, Logger: cfg.Logger,
	}
	asOf := asof.Reader{Now: cfg.Now, Waiter: waiter}
	requests := &write.Requests{
		Commands: cfg.Commands, Plans: cfg.Plans,
		Pseudonyms: cfg.Pseudonyms, Proxies: cfg.Proxies, Base: cfg.Base,
	}
	pages := selection.PageSizes{Default: cfg.PageSize, Max: cfg.MaxPageSize}
	within := selection.Bound{Lists: cfg.Lists}
	changes := bulk.New(bulk.Config{
		Commands: cfg.Commands, Queries: cfg.Queries, Lists: cfg.Lists,
		Requests: requests, Waiter: waiter, Bound: within,
		Timeout: cfg.OperationTimeout, MaxHashes: cfg.GroupLimit, MaxFailed: cfg.MaxPageSize,
	})
	return &API{
		waiter: waiter,
		auth: auth.New(auth.Config{
			Logins: cfg.Logins, Sessions: cfg.Sessions, Used: cfg.KeyUsed,
		}),
		members: &members.Handler{
			Accounts: cfg.Accounts, Queries: cfg.Queries, Requests: requests, Waiter: waiter,
			BodyLimit: cfg.BodyLimit,
		},
		proofs: &proofcalls.Handler{
			Prover: cfg.Prover, Waiter: waiter, BodyLimit: cfg.BodyLimit,
			Turns: proofcalls.NewTurns(),
		},
		sessions: &sessions.Handler{
			Sessions: cfg.Sessions, Lists: cfg.SessionLists, Queries: cfg.Queries,
			BodyLimit: cfg.BodyLimit,
		},
		account: &account.Handler{
			Queries: cfg.Queries, Lists: cfg.Lists, UsageMeter: cfg.UsageMeter, Plans: cfg.Plans,
			AsOf: asOf,
		},
		activity: &activity.Handler{Queries: cfg.Queries, Waiter: waiter, Pages: pages},
		changes:  changes,
		domains:  &domainHandler{Base: cfg.Base, RedirectStatus: cfg.RedirectStatus},
		keys: &keys.Handler{
			Accounts: cfg.Accounts, Queries: cfg.Queries, Requests: requests, Waiter: waiter,
			BodyLimit: cfg.BodyLimit, LoginsCached: cache.TrustedFor,
		},
		stats: &stats.Handler{
			Commands: cfg.Commands, Audit: cfg.Audit, Queries: cfg.Queries, Changes: changes,
			Waiter: waiter, Bound: within, Pages: pages,
		},
		tags: &tags.Handler{
			Commands: cfg.Commands, Lists: cfg.Lists, Requests: requests, Waiter: waiter,
			BodyLimit: cfg.BodyLimit,
		},
		urls: &urls.Handler{
			Searches: urls.NewSearches(),
			Commands: cfg.Commands, Audit: cfg.Audit, Queries: cfg.Queries, Lists: cfg.Lists,
			Requests: requests, Changes: changes,
			Records: &record.Builder{
				Base: cfg.Base, Queries: cfg.Queries, Waiter: waiter, Logger: cfg.Logger,
			},
			Waiter: waiter, AsOf: asOf, Bound: within,
			Limits: payload.Limits{Body: cfg.BodyLimit, Items: cfg.GroupLimit}, Pages: pages,
			Logger: cfg.Logger,
		},
		webhooks: &webhooks.Handler{
			Commands: cfg.Webhooks.Webhooks, Outbox: cfg.Deliveries, Try: cfg.Try,
			Links: cfg.Commands, Requests: requests, Base: cfg.Base, Pages: pages,
			BodyLimit: cfg.BodyLimit,
		},
	}
}

// AwaitAccounts waits until the read models show the changes of accounts and people up to a commit
// position. It returns false if that takes too long, or if an event that ends rights cannot take
// effect.
func (a *API) AwaitAccounts(c *request.Context, position uint64) bool {
	return a.waiter.AwaitEnd(c, position) == nil
}

// Shows waits until a projection has passed a commit position. It returns false if the wait fails
// or times out.
func (a *API) Shows(ctx context.Context, projection string, position uint64) bool {
	return a.waiter.Shows(ctx, projection, position)
}

// Operations returns how many changes by tags and undos of an account run or wait on this node.
func (a *API) Operations(account uuid.UUID) int { return a.changes.Operations(account) }
