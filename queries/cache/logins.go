package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"linkledger/queries"
	"linkledger/queries/accountlist"
)

const (
	// TrustedFor is how long cached logins are used after the database has confirmed that no
	// account has changed. Once the read models show a change, it takes effect on all nodes within
	// this time, even if no notification arrives.
	TrustedFor = 500 * time.Millisecond
	// confirmAfter is the time after which one caller asks the database again. Meanwhile the other
	// callers still use the cache.
	confirmAfter = TrustedFor / 2

	// maxAccounts and maxKeys bound the memory of Logins, to some 40 MB. A full cache is emptied,
	// which costs one look-up for each account.
	maxAccounts = 20_000
	maxKeys     = 10 * maxAccounts
)

// Logins is a cache of queries.DB.Logins. A progress.Waiter reports a changed account to the cache
// before it reports that the write of the change has reached the read models. So a caller that has
// the answer to the write sees the effect of the write here. Callers of other nodes see the effect
// after TrustedFor at the latest. Unknown user names are not cached, because their number is
// unlimited. Logins is safe for concurrent use.
type Logins struct {
	lookups *lookups

	mu      sync.RWMutex
	entries map[string]accountlist.Login // by user name
	keys    int                          // of all entries
	// The entries show all changes of accounts before the time confirmed. upTo is the commit
	// position of the last of these changes.
	confirmed time.Time
	upTo      int64
	changes   uint64 // counts the times that changes were reported

	confirming atomic.Bool // a caller asks the database
}

// NewLogins returns the logins of a database.
func NewLogins(db *queries.DB) *Logins { return newLogins(db.Logins) }

func newLogins(find func(context.Context, []string) ([]accountlist.Login, error)) *Logins {
	return &Logins{lookups: &lookups{find: find}, entries: make(map[string]accountlist.Login)}
}

// Remembered returns the login of a user name if it is in the cache and can be trusted. Once
// confirmAfter has passed, it returns false to one caller, so that this caller asks the database.
func (a *Logins) Remembered(username string) (accountlist.Login, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	login, ok := a.entries[username]
	age := time.Since(a.confirmed)
	if !ok || age >= TrustedFor || age >= confirmAfter && a.confirming.CompareAndSwap(false, true) {
		return accountlist.Login{}, false
	}
	return login, true
}

// LookUp reads a login from the database, or returns queries.ErrNotFound. All callers share one
// connection: names that arrive while a query runs go into the next query together. An unknown user
// name is as much work for the database as a known one.
func (a *Logins) LookUp(ctx context.Context, username string) (accountlist.Login, error) {
	defer a.confirming.Store(false)
	a.mu.RLock()
	changes := a.changes
	a.mu.RUnlock()
	at := time.Now()
	login, err := a.lookups.lookUp(ctx, username)
	if err != nil {
		return accountlist.Login{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changes == changes { // else the account may have changed since it was read
		a.remember(login, at)
	}
	return login, nil
}

// remember adds a login that was read after the time at. The caller MUST hold a.mu.
func (a *Logins) remember(login accountlist.Login, at time.Time) {
	if login.Changed != a.upTo {
		if at.Before(a.confirmed) {
			return // another caller has read a later state meanwhile
		}
		a.empty()
		a.upTo = login.Changed
	}
	if at.After(a.confirmed) {
		a.confirmed = at
	}
	before, known := a.entries[login.Username]
	if !known && (len(a.entries) >= maxAccounts || a.keys >= maxKeys) {
		a.empty()
	}
	a.keys += len(login.Keys) - len(before.Keys)
	a.entries[login.Username] = login
}

// empty removes all entries. The caller MUST hold a.mu.
func (a *Logins) empty() {
	clear(a.entries)
	a.keys = 0
}

// Changed empties the cache if accounts have changed, which is rare.
func (a *Logins) Changed(projection string, _ []string) {
	if projection == "accounts" {
		a.Missed()
	}
}

// Missed empties the cache.
func (a *Logins) Missed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes++
	a.empty()
}

// SetConnected does nothing: the cache asks the database whether accounts have changed.
func (a *Logins) SetConnected(bool) {}
