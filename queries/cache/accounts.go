package cache

import (
	"context"
	"sync"
	"time"

	"linkledger/queries"
)

// maxAccounts bounds the memory of Accounts. A full cache is emptied, which costs one look-up for
// each account.
const maxAccounts = 10_000

// Accounts is a cache of queries.DB.AccountByUsername. A progress.Waiter reports a changed account
// to it before it reports that the write has reached the read models. So callers that have seen the
// answer to the write see its effect here. Unknown user names are not cached, because their number
// is unlimited. Accounts is safe for concurrent use.
type Accounts struct {
	lookups *lookups

	mu      sync.RWMutex
	entries map[string]cachedAccount // by user name
	// changes are reported; if false, entries are valid for StaleBound
	connected bool
	changes   uint64 // counts the times that the cache was emptied
}

type cachedAccount struct {
	queries.Account

	at time.Time // when the look-up began
}

// NewAccounts returns the accounts of a database. Until a running progress.Waiter reports changes
// to them, they are at most StaleBound old.
func NewAccounts(db *queries.DB) *Accounts { return newAccounts(db.AccountsByUsername) }

func newAccounts(find func(context.Context, []string) ([]queries.Account, error)) *Accounts {
	return &Accounts{lookups: &lookups{find: find}, entries: make(map[string]cachedAccount)}
}

// Remembered returns the account of a user name if it is in the cache.
func (a *Accounts) Remembered(username string) (queries.Account, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	entry, ok := a.entries[username]
	return entry.Account, ok && (a.connected || time.Since(entry.at) < StaleBound)
}

// LookUp reads an account from the database, and returns the errors of DB.AccountByUsername. All
// callers share one connection: names that arrive while a query runs go into the next query
// together. An unknown user name is as much work for the database as a known one.
func (a *Accounts) LookUp(ctx context.Context, username string) (queries.Account, error) {
	a.mu.RLock()
	changes := a.changes
	a.mu.RUnlock()
	at := time.Now()
	account, err := a.lookups.lookUp(ctx, username)
	if err != nil {
		return queries.Account{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changes == changes { // else the account may have changed since it was read
		if len(a.entries) >= maxAccounts {
			clear(a.entries)
		}
		a.entries[account.Username] = cachedAccount{account, at}
	}
	return account, nil
}

// Changed empties the cache if accounts have changed, which is rare.
func (a *Accounts) Changed(projection string, _ []string) {
	if projection == "accounts" {
		a.forget()
	}
}

// Missed empties the cache.
func (a *Accounts) Missed() { a.forget() }

// forget empties the cache.
func (a *Accounts) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes++
	clear(a.entries)
}

// SetConnected records whether changes are reported from now on. It empties the cache.
func (a *Accounts) SetConnected(connected bool) {
	a.forget()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connected = connected
}
