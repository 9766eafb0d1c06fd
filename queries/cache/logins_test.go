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

	"linkledger/events"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/accountlist"
	"linkledger/queries/progress"
	"linkledger/queries/queriestest"
)

// accountSource is a source of logins that counts its queries. It calls before, unless nil, after
// it has read the accounts.
type accountSource struct {
	lookUps int
	plan    string
	changed int64
	before  func()
}

func (l *accountSource) find(_ context.Context, usernames []string) ([]accountlist.Login, error) {
	l.lookUps++
	var logins []accountlist.Login
	for _, username := range usernames {
		login := accountlist.Login{Account: accountlist.Account{Username: username, Plan: l.plan}, Changed: l.changed}
		if username != "nobody" {
			login.ID = uuid.New()
		}
		logins = append(logins, login)
	}
	if l.before != nil {
		l.before()
	}
	return logins, nil
}

func accountsOf(l *accountSource) *Logins { return newLogins(l.find) }

// byUsername returns an account as a login does.
func (a *Logins) byUsername(ctx context.Context, username string) (accountlist.Login, error) {
	if login, ok := a.Remembered(username); ok {
		return login, nil
	}
	return a.LookUp(ctx, username)
}

func hasPlan(t *testing.T, a *Logins, l *accountSource, plan string, lookUps int) {
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
	a.Missed()
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
		a := newLogins(func(_ context.Context, usernames []string) ([]accountlist.Login, error) {
			if underWay.Add(1) > 1 {
				t.Error("two queries at once")
			}
			<-release
			underWay.Add(-1)
			sizes = append(sizes, len(usernames))
			var logins []accountlist.Login
			for _, username := range usernames {
				logins = append(logins, accountlist.Login{Account: accountlist.Account{ID: uuid.New(), Username: username}})
			}
			return logins, nil
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
	a := NewLogins(w.q)
	for _, name := range []string{
		"", "\x00", "\xff", strings.Repeat("a", maxUsername+1), "{demo}", `demo"`, "demo,demo", "NULL",
	} {
		if account, err := a.LookUp(queriestest.WithTimeout(t), name); !errors.Is(err, queries.ErrNotFound) {
			t.Errorf("%.20q: %+v, %v", name, account, err)
		}
	}
	want, err := w.q.AccountByUsername(queriestest.WithTimeout(t), "demo")
	got, err2 := a.LookUp(queriestest.WithTimeout(t), "demo")
	if err != nil || err2 != nil || got.Account != want || got.Changed != 5 {
		t.Errorf("looked up %+v, %v; want %+v, %v", got, err2, want, err)
	}
	keys := []accountlist.Key{
		{ID: "k1", Hash: "abc"},
		{ID: "k2", Hash: "def", Restricted: &events.KeyTerms{
			Scopes: []string{"links:read", "keys"}, Tags: "+news",
			Networks: []string{"192.0.2.0/24", "::/0"}, Expires: queriestest.Noon.Format(time.DateOnly),
		}},
	}
	slices.SortFunc(got.Keys, func(a, b accountlist.Key) int { return strings.Compare(a.ID, b.ID) })
	queriestest.EqualJSON(t, got.Keys, keys)
	if other, err := a.LookUp(queriestest.WithTimeout(t), "Demo"); err != nil || len(other.Keys) != 0 {
		t.Errorf("an account without keys: %+v, %v", other, err)
	}
}

// TestAccountsThatChangeMeanwhile changes an account while it is looked up. The old account must
// not be cached.
func TestAccountsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	l := &accountSource{plan: "old"}
	a := accountsOf(l)
	l.before = func() { l.plan = "new"; a.Missed() }
	hasPlan(t, a, l, "old", 1)
	l.before = nil
	hasPlan(t, a, l, "new", 2)
}

// TestLoginsAreConfirmed checks that a login is trusted for TrustedFor after the beginning of the
// query that has read it or has confirmed it, whether changes are notified or not.
func TestLoginsAreConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &accountSource{plan: "old"}
		a := accountsOf(l)
		other := func(lookUps int) {
			t.Helper()
			if _, err := a.byUsername(t.Context(), "other"); err != nil || l.lookUps != lookUps {
				t.Errorf("%v, %d queries; want %d", err, l.lookUps, lookUps)
			}
		}
		hasPlan(t, a, l, "old", 1)
		other(2)
		time.Sleep(confirmAfter - 1)
		hasPlan(t, a, l, "old", 2)
		time.Sleep(time.Nanosecond)
		other(3) // confirms the login of demo too
		hasPlan(t, a, l, "old", 3)
		time.Sleep(TrustedFor - 1)
		l.plan, l.changed = "new", 7
		other(4) // finds that an account has changed
		hasPlan(t, a, l, "new", 5)
		time.Sleep(TrustedFor)
		l.plan, l.changed = "newer", 8
		hasPlan(t, a, l, "newer", 6)
		l.plan, l.changed = "rolled back", 7
		time.Sleep(TrustedFor)
		hasPlan(t, a, l, "rolled back", 7)
		hasPlan(t, a, l, "rolled back", 7)
	})
}

// TestOneCallerConfirms checks that other callers go on while one confirms the logins, and that
// they stop if that takes too long.
func TestOneCallerConfirms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &accountSource{}
		a := accountsOf(l)
		hasPlan(t, a, l, "", 1)
		time.Sleep(confirmAfter)
		if _, ok := a.Remembered("demo"); ok {
			t.Error("nobody confirms")
		}
		if _, ok := a.Remembered("demo"); !ok {
			t.Error("two callers confirm")
		}
		time.Sleep(TrustedFor - confirmAfter)
		if _, ok := a.Remembered("demo"); ok {
			t.Error("an unconfirmed login is trusted")
		}
	})
}

// TestLateLookUp ends a look-up after a later one. Its result is not cached.
func TestLateLookUp(t *testing.T) {
	t.Parallel()
	a := newLogins(nil)
	now := time.Now()
	login := func(plan string, changed int64) accountlist.Login {
		return accountlist.Login{Account: accountlist.Account{Username: "demo", Plan: plan}, Changed: changed}
	}
	a.remember(login("new", 2), now)
	a.remember(login("old", 1), now.Add(-time.Millisecond))
	if got, ok := a.Remembered("demo"); !ok || got.Plan != "new" {
		t.Errorf("%+v, %t", got, ok)
	}
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
	keys := make([]accountlist.Key, 100)
	for i := range 3 * maxKeys / len(keys) / 2 {
		a.remember(accountlist.Login{Account: accountlist.Account{Username: fmt.Sprint("user", i)}, Keys: keys}, time.Now())
		if a.keys > maxKeys+len(keys) {
			t.Fatalf("%d keys are remembered", a.keys)
		}
	}
	a.remember(accountlist.Login{Account: accountlist.Account{Username: "again"}, Keys: keys}, time.Now())
	n := a.keys
	a.remember(accountlist.Login{Account: accountlist.Account{Username: "again"}, Keys: keys[:1]}, time.Now())
	if a.keys != n-len(keys)+1 {
		t.Errorf("%d keys are counted, want %d", a.keys, n-len(keys)+1)
	}
}

// TestWaiterInvalidatesAccounts checks that a key that another process has changed is no longer
// valid once the position of the change is reached.
func TestWaiterInvalidatesAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, accounts := progress.NewWaiter(w.DB), NewLogins(w.q)
	f.Caches = []progress.Cache{accounts}
	queriestest.Run(t, f.Run)
	queriestest.Commit(t, w.DB, "accounts", 1, true)
	mustWait(t, f, "accounts", 1)
	for i := range uint64(20) {
		if _, err := accounts.byUsername(queriestest.WithTimeout(t), "demo"); err != nil {
			t.Fatal(err)
		}
		hash := fmt.Sprint("key ", i)
		if _, err := w.DB.NewRaw(`BEGIN; UPDATE linkledger.api_keys SET hash = ?0 WHERE id = 'k1';
			SELECT pg_notify(?1, 'accounts changed someone '); SELECT pg_notify(?1, ?2); COMMIT`,
			hash, readmodel.Channel, fmt.Sprint("accounts ", i+2)).Exec(queriestest.WithTimeout(t)); err != nil {
			t.Fatal(err)
		}
		mustWait(t, f, "accounts", i+2)
		after, err := accounts.byUsername(queriestest.WithTimeout(t), "demo")
		if err != nil || !slices.ContainsFunc(after.Keys, func(k accountlist.Key) bool { return k.Hash == hash }) {
			t.Errorf("%+v, %v; want %s", after.Keys, err, hash)
		}
	}
}
