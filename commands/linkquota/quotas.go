package linkquota

import (
	"context"
	"sync/atomic"
	"time"

	"linkledger/commands/domain"
	"linkledger/commands/ledger"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// storeTimeout bounds how long links of an account with limits wait for the event store.
	storeTimeout = 5 * time.Second
	// MaxPending bounds the pending links of an account, because one event names them all.
	MaxPending = 4096
	// readModelTimeout is how long a link waits for the read model to count deletions.
	readModelTimeout = 2 * time.Second
)

// Config of Quotas.
type Config struct {
	Store *eventstore.Store
	// Existing counts an account's links in the read model, in total and in the month of now. In
	// the service this is queries.DB.LinkTotals.
	Existing func(ctx context.Context, account string, now time.Time) (Existing, error)
	Now      func() time.Time // nil: time.Now
}

// Quotas keeps the number of links of an account with limits within its plan, exactly, over all
// nodes. A link is reserved in the account's stream, at the stream's exact revision, before the
// link is created. Requests that arrive during an append share the next append, first come, first
// served.
//
// If the creation of a link fails, its reservation is given back at once. If a node was killed
// between the reservation and the creation, the next node that finds the plan used up looks for
// the link. After ClaimTimeout, that node abandons the link in the link's own stream, so that a
// late creation fails, and gives the reservation back. The read model, which counts the deleted
// links, may be behind. So a request waits for the read model before it is refused. The read model
// also counts the links that were created while the account had no limit.
//
// It is safe for concurrent use.
type Quotas struct{ ledger *ledger.Ledger[*request] }

// request asks for the reservation of a link, or reports the outcome of a reserved one.
type request struct {
	ledger.Reply

	link    events.PendingLink // the answer sets At
	outcome outcome            // outcomeOpen asks for a reservation
	plan    domain.Plan
	since   time.Time
	head    eventstore.Position // of the log, later than since; zero: not read yet
	left    atomic.Bool         // the caller has left
}

// New returns the quotas of a node.
func New(cfg Config) *Quotas {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Quotas{ledger.New(storeTimeout, func(id string) ledger.Serve[*request] {
		a := &accountQuota{
			Config: cfg, id: id,
			stream:  ledger.NewStream[events.QuotaChanged](cfg.Store, events.StreamQuota+id),
			created: reservationSet{}, failed: reservationSet{},
		}
		return a.serve
	})}
}

// report notes the outcome of a pending link. If the link failed, its reservation is given back.
func (q *Quotas) report(account string, link events.PendingLink, o outcome) {
	q.ledger.Ask(account, &request{link: link, outcome: o})
}
