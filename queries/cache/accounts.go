package cache

import (
	"context"
	"sync"
	"time"

	"linkledger/queries"
)

// maxAccounts bounds the memory of Accounts. A full one forgets all of them, which costs a look-up
// each.
const maxAccounts = 10_000

// Accounts answers queries.DB.AccountByUsername, from memory where it can. A progress.Waiter tells
// it that an account has changed before it tells that the write which changed it has reached the
// read models: a caller who has seen the answer to the write sees its effect here. Unknown user
// names are not remembered: there is no end of them. It is safe for concurrent use.
type Accounts struct {
	lookups *lookups

	mu        sync.RWMutex
	entries   map[string]cachedAccount // by user name
	connected bool                     // of changes; else what is remembered counts for StaleBound
	changes   uint64                   // counts the reasons to forget
}

type cachedAccount struct {
	queries.Account

	at time.Time // when the look-up began
}

// NewAccounts returns the accounts of a database. Until a progress.Waiter that runs is told of
// them, they are at most StaleBound old.
func NewAccounts(db *queries.DB) *Accounts { return newAccounts(db.AccountsByUsername) }

func newAccounts(find func(context.Context, []string) ([]queries.Account, error)) *Accounts {
	return &Accounts{lookups: &lookups{find: find}, entries: make(map[string]cachedAccount)}
}

// Remembered returns the account of a user name where it is in memory.
func (a *Accounts) Remembered(username string) (queries.Account, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	entry, ok := a.entries[username]
	return entry.Account, ok && (a.connected || time.Since(entry.at) < StaleBound)
}

// LookUp asks the database, and fails as DB.AccountByUsername does. All callers together take one
// connection: those who come while a question is under way ask the next one together. To the
// database an unknown user name is as much work as a known one.
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
	if a.changes == changes { // or else it may have changed since it was read
		if len(a.entries) >= maxAccounts {
			clear(a.entries)
		}
		a.entries[account.Username] = cachedAccount{account, at}
	}
	return account, nil
}

// Changed forgets all accounts where some have changed, which is rare.
func (a *Accounts) Changed(projection string, _ []string) {
	if projection == "accounts" {
		a.forget()
	}
}

// Missed forgets all accounts: changes have been missed.
func (a *Accounts) Missed() { a.forget() }

// forget forgets all accounts.
func (a *Accounts) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes++
	clear(a.entries)
}

// SetConnected notes whether changes are heard of from now on.
func (a *Accounts) SetConnected(connected bool) {
	a.forget()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connected = connected
}
