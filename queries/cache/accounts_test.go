package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/progress"
	"linkledger/queries/queriestest"
)

// accountSource is a source of accounts that counts its queries. It calls before, unless nil, after
// it has read the accounts.
type accountSource struct {
	lookUps int
	plan    string
	before  func()
}

func (l *accountSource) find(_ context.Context, usernames []string) ([]queries.Account, error) {
	l.lookUps++
	var accounts []queries.Account
	for _, username := range usernames {
		account := queries.Account{Username: username, Plan: l.plan}
		if username != "nobody" {
			account.ID = uuid.New()
		}
		accounts = append(accounts, account)
	}
	if l.before != nil {
		l.before()
	}
	return accounts, nil
}

// accountsOf returns a cache of a source that receives notifications.
func accountsOf(l *accountSource) *Accounts {
	a := newAccounts(l.find)
	a.SetConnected(true)
	return a
}

// byUsername returns an account as a login does.
func (a *Accounts) byUsername(ctx context.Context, username string) (queries.Account, error) {
	if account, ok := a.Remembered(username); ok {
		return account, nil
	}
	return a.LookUp(ctx, username)
}

func hasPlan(t *testing.T, a *Accounts, l *accountSource, plan string, lookUps int) {
	t.Helper()
	account, err := a.byUsername(t.Context(), "demo")
	if err != nil || account.Plan != plan || l.lookUps != lookUps {
		t.Errorf("plan %q, %v, after %d queries; want %q after %d", account.Plan, err, l.lookUps, plan, lookUps)
	}
}

func TestAccountsAreRemembered(t *testing.T) {
	t.Parallel()
	l := &accountSource{plan: "old"}
	a := accountsOf(l)
	hasPlan(t, a, l, "old", 1)
	l.plan = "new"
	hasPlan(t, a, l, "old", 1)
	a.forget()
	hasPlan(t, a, l, "new", 2)
	for lookUps := 3; lookUps <= 4; lookUps++ {
		if _, err := a.byUsername(t.Context(), "nobody"); !errors.Is(err, queries.ErrNotFound) || l.lookUps != lookUps {
			t.Errorf("nobody: %v after %d queries, want %d", err, l.lookUps, lookUps)
		}
	}
	if n := len(a.entries); n != 1 {
		t.Errorf("%d accounts are remembered, want 1", n)
	}
	if account, err := a.LookUp(t.Context(), "demo"); err != nil || account.Plan != "new" || l.lookUps != 5 {
		t.Errorf("looked up: %+v, %v after %d queries", account, err, l.lookUps)
	}
}

// TestLookUpsTakeOneConnection checks that look-ups of many user names use one connection, and that
// waiting calls share a query. A call that ends early does not delay the others.
func TestLookUpsTakeOneConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var underWay atomic.Int32
		var sizes []int
		release := make(chan struct{})
		a := newAccounts(func(_ context.Context, usernames []string) ([]queries.Account, error) {
			if underWay.Add(1) > 1 {
				t.Error("two queries at once")
			}
			<-release
			underWay.Add(-1)
			sizes = append(sizes, len(usernames))
			var accounts []queries.Account
			for _, username := range usernames {
				accounts = append(accounts, queries.Account{ID: uuid.New(), Username: username})
			}
			return accounts, nil
		})
		var callers sync.WaitGroup
		lookUp := func(ctx context.Context, username string, want error) {
			callers.Go(func() {
				if account, err := a.LookUp(ctx, username); !errors.Is(err, want) ||
					err == nil && account.Username != username {
					t.Errorf("%s: %+v, %v; want %v", username, account, err, want)
				}
			})
			synctest.Wait()
		}
		lookUp(t.Context(), "first", nil)
		for i := range maxBatch + 1 {
			lookUp(t.Context(), strconv.Itoa(i), nil)
		}
		lookUp(t.Context(), "0", nil)
		leaving, leave := context.WithCancel(t.Context())
		lookUp(leaving, "leaving", context.Canceled)
		leave()
		close(release)
		callers.Wait()
		if synctest.Wait(); !slices.Equal(sizes, []int{1, maxBatch, 3}) {
			t.Errorf("the queries were for %v user names", sizes)
		}
	})
}

func TestLookUpsOfOddUserNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := NewAccounts(w.q)
	for _, name := range []string{
		"", "\x00", "\xff", strings.Repeat("a", maxUsername+1), "{demo}", `demo"`, "demo,demo", "NULL",
	} {
		if account, err := a.LookUp(queriestest.WithTimeout(t), name); !errors.Is(err, queries.ErrNotFound) {
			t.Errorf("%.20q: %+v, %v", name, account, err)
		}
	}
	want, err := w.q.AccountByUsername(queriestest.WithTimeout(t), "demo")
	if got, err2 := a.LookUp(queriestest.WithTimeout(t), "demo"); err != nil || err2 != nil || got != want {
		t.Errorf("looked up %+v, %v; want %+v, %v", got, err2, want, err)
	}
}

// TestAccountsThatChangeMeanwhile changes an account while it is looked up. The old account must
// not be cached.
func TestAccountsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	l := &accountSource{plan: "old"}
	a := accountsOf(l)
	l.before = func() { l.plan = "new"; a.forget() }
	hasPlan(t, a, l, "old", 1)
	l.before = nil
	hasPlan(t, a, l, "new", 2)
}

func TestAccountsWithoutNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &accountSource{plan: "old"}
		a := accountsOf(l)
		hasPlan(t, a, l, "old", 1)
		a.SetConnected(false)
		hasPlan(t, a, l, "old", 2)
		time.Sleep(StaleBound - time.Millisecond)
		hasPlan(t, a, l, "old", 2)
		time.Sleep(time.Millisecond)
		l.plan = "new"
		hasPlan(t, a, l, "new", 3)
		a.SetConnected(true)
		hasPlan(t, a, l, "new", 4)
	})
}

func TestAccountsAreBounded(t *testing.T) {
	t.Parallel()
	a := accountsOf(&accountSource{})
	for i := range 3 * maxAccounts / 2 {
		if _, err := a.byUsername(t.Context(), strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.entries); n > maxAccounts {
		t.Errorf("%d accounts are remembered", n)
	}
}

// TestWaiterInvalidatesAccounts checks that a key that another process has changed is no longer
// valid once the position of the change is reached.
func TestWaiterInvalidatesAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, accounts := progress.NewWaiter(w.DB), NewAccounts(w.q)
	f.Caches = []progress.Cache{accounts}
	queriestest.Run(t, f.Run)
	queriestest.Commit(t, w.DB, "accounts", 1, true)
	mustWait(t, f, "accounts", 1)
	for i := range uint64(20) {
		if _, err := accounts.byUsername(queriestest.WithTimeout(t), "demo"); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint("key ", i)
		if _, err := w.DB.NewRaw(`BEGIN; UPDATE linkledger.accounts SET key_hash = ?0 WHERE username = 'demo';
			SELECT pg_notify(?1, 'accounts changed someone '); SELECT pg_notify(?1, ?2); COMMIT`,
			key, readmodel.Channel, fmt.Sprint("accounts ", i+2)).Exec(queriestest.WithTimeout(t)); err != nil {
			t.Fatal(err)
		}
		mustWait(t, f, "accounts", i+2)
		if after, err := accounts.byUsername(queriestest.WithTimeout(t), "demo"); err != nil || after.KeyHash != key {
			t.Errorf("%s, %v; want %s", after.KeyHash, err, key)
		}
	}
}
