package queries

import (
	"context"
	"sync"
	"time"
)

// maxAccounts bounds the memory of Accounts. A full one forgets all of them, which costs a look-up each.
const maxAccounts = 10_000

// Accounts answers DB.AccountByUsername from memory. Freshness tells it that an account has changed before it tells that
// the write which changed it has reached the read models: who has seen the answer to it sees its effect here. Unknown user
// names are not remembered. It is safe for concurrent use.
type Accounts struct {
	find func(ctx context.Context, username string) (Account, error)

	mu      sync.RWMutex
	known   map[string]knownAccount // by user name
	heard   bool                    // of changes; else what is remembered counts for StaleBound
	changes uint64                  // counts the reasons to forget
}

type knownAccount struct {
	Account

	at time.Time // when the look-up began
}

// NewAccounts returns the accounts of a database. Until a Freshness that runs is told of them, they are at most
// StaleBound old.
func NewAccounts(db *DB) *Accounts {
	return &Accounts{find: db.AccountByUsername, known: make(map[string]knownAccount)}
}

// ByUsername returns what DB.AccountByUsername returns, and fails as it does.
func (a *Accounts) ByUsername(ctx context.Context, username string) (Account, error) {
	a.mu.RLock()
	known, ok := a.known[username]
	heard, changes := a.heard, a.changes
	a.mu.RUnlock()
	if ok && (heard || time.Since(known.at) < StaleBound) {
		return known.Account, nil
	}
	at := time.Now()
	account, err := a.find(ctx, username)
	if err != nil {
		return Account{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changes == changes { // or else it may have changed since it was read
		if len(a.known) >= maxAccounts {
			clear(a.known)
		}
		a.known[username] = knownAccount{account, at}
	}
	return account, nil
}

// missed forgets all accounts, some of which have changed. That is rare.
func (a *Accounts) missed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes++
	clear(a.known)
}

// hear notes whether changes are heard of from now on.
func (a *Accounts) hear(heard bool) {
	a.missed()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = heard
}
