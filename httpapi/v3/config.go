package v3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/clicks"
	"linkledger/commands/domain"
	"linkledger/commands/metering"
	"linkledger/commands/people"
	"linkledger/commands/proofs"
	"linkledger/commands/webhooks"
	"linkledger/effects/outbox"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
	"linkledger/httpapi/v3/catchup"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/linklist"
	"linkledger/queries/sessionlist"
)

// Writes changes links, accounts and people.
type Writes struct {
	Commands *commands.Handler
	Accounts *accounts.Accounts
	People   *people.People
}

// Complete reports whether no part is missing.
func (w *Writes) Complete() bool {
	return w.Commands != nil && w.Accounts != nil && w.People != nil
}

// Reads answers questions from the read models and from the log.
type Reads struct {
	Queries      *queries.DB
	Lists        *linklist.Reader
	SessionLists *sessionlist.Reader
	Logins       *cache.Logins
	Audit        *audit.Reader
	Prover       *proofs.Prover // nil: the service proves nothing
}

// Complete reports whether no part is missing that a call cannot do without.
func (r *Reads) Complete() bool {
	return r.Queries != nil && r.Lists != nil && r.SessionLists != nil && r.Logins != nil &&
		r.Audit != nil
}

// Webhooks has the webhooks of accounts, their deliveries, and a function that makes a test
// delivery.
type Webhooks struct {
	Webhooks   *webhooks.Webhooks
	Deliveries *outbox.Outbox
	Try        func(context.Context, webhooks.Webhook) outbox.Outcome
}

// Complete reports whether no part is missing.
func (w *Webhooks) Complete() bool {
	return w.Webhooks != nil && w.Deliveries != nil && w.Try != nil
}

// Usage has the limits of accounts, and the meter of their calls.
type Usage struct {
	// Plans has the limits of each plan by its name. An account with any other plan has no limits.
	Plans map[string]domain.Plan
	// UsageMeter MUST run until the last request is answered.
	UsageMeter *metering.Meter
}

// Limits bounds what one call may take. SetDefaultLimits sets the fields that are 0.
type Limits struct {
	WaitTimeout time.Duration // the longest wait of a call for a projection; 0: 1 s
	// OperationTimeout bounds a change by tags or an undo, which changes its URLs in portions:
	// after this time it begins no portion. The last portion has another half minute. 0: 9.5 min.
	OperationTimeout time.Duration
	BodyLimit        int64 // bytes; 0: 1 MiB
	GroupLimit       int   // the most items of one batch; 0: 50
	PageSize         int   // entries of a list if the call has no limit; 0: 50
	MaxPageSize      int   // the most entries of a list; 0: 1000
}

// SetDefaultLimits sets the fields that are 0.
func (l *Limits) SetDefaultLimits() {
	l.WaitTimeout = cmp.Or(l.WaitTimeout, time.Second)
	l.OperationTimeout = cmp.Or(l.OperationTimeout, 9*time.Minute+30*time.Second)
	l.BodyLimit = cmp.Or(l.BodyLimit, 1<<20)
	l.GroupLimit = cmp.Or(l.GroupLimit, 50)
	l.PageSize = cmp.Or(l.PageSize, 50)
	l.MaxPageSize = cmp.Or(l.MaxPageSize, 1000)
}

// CheckLimits returns an error if a limit is negative, or if PageSize exceeds MaxPageSize.
func (l *Limits) CheckLimits() error {
	if l.WaitTimeout < 0 || l.OperationTimeout < 0 || l.BodyLimit < 0 || l.GroupLimit < 0 ||
		l.PageSize < 0 {
		return errors.New("a timeout or limit is negative")
	}
	if l.MaxPageSize < l.PageSize {
		return fmt.Errorf("the page size %d exceeds the maximum, %d", l.PageSize, l.MaxPageSize)
	}
	return nil
}

// Config configures the API. All fields except Prover, Clicks, Plans, Proxies and Base are
// required.
type Config struct {
	Writes
	Reads
	Webhooks
	Usage
	Limits

	Projections catchup.Projections
	Sessions    *session.Sessions
	Clicks      *clicks.Recorder // records the clicks of this node; nil: none

	Pseudonyms     *peer.Pseudonyms // of the addresses of callers
	Proxies        peer.Proxies
	Base           shortlink.Base
	RedirectStatus int

	// KeyUsed is called for each call that is accepted.
	KeyUsed func(account uuid.UUID, key string)

	Now    func() time.Time
	Logger *slog.Logger
}
