package queries

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"linkledger/projections/readmodel"
)

// ledger is a source of accounts that counts what it is asked, and does something before it answers.
type ledger struct {
	asked  int
	plan   string
	before func()
}

func (l *ledger) find(_ context.Context, username string) (Account, error) {
	l.asked++
	account := Account{Username: username, Plan: l.plan}
	if l.before != nil {
		l.before()
	}
	if username == "nobody" {
		return Account{}, ErrNotFound
	}
	return account, nil
}

// accountsOf returns accounts that hear of changes.
func accountsOf(l *ledger) *Accounts {
	a := &Accounts{find: l.find, known: make(map[string]knownAccount)}
	a.hear(true)
	return a
}

func hasPlan(t *testing.T, a *Accounts, l *ledger, plan string, asked int) {
	t.Helper()
	account, err := a.ByUsername(t.Context(), "demo")
	if err != nil || account.Plan != plan || l.asked != asked {
		t.Errorf("plan %q, %v, after %d questions; want %q after %d", account.Plan, err, l.asked, plan, asked)
	}
}

func TestAccountsAreRemembered(t *testing.T) {
	t.Parallel()
	l := &ledger{plan: "old"}
	a := accountsOf(l)
	hasPlan(t, a, l, "old", 1)
	l.plan = "new"
	hasPlan(t, a, l, "old", 1)
	a.missed()
	hasPlan(t, a, l, "new", 2)
	for asked := 3; asked <= 4; asked++ {
		if _, err := a.ByUsername(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) || l.asked != asked {
			t.Errorf("nobody: %v after %d questions, want %d", err, l.asked, asked)
		}
	}
}

// TestAccountsThatChangeMeanwhile has an account change between its look-up and the answer.
func TestAccountsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	l := &ledger{plan: "old"}
	a := accountsOf(l)
	l.before = func() { l.plan = "new"; a.missed() }
	hasPlan(t, a, l, "old", 1)
	l.before = nil
	hasPlan(t, a, l, "new", 2)
}

func TestAccountsWithoutNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{plan: "old"}
		a := accountsOf(l)
		hasPlan(t, a, l, "old", 1)
		a.hear(false)
		hasPlan(t, a, l, "old", 2)
		time.Sleep(StaleBound - time.Millisecond)
		hasPlan(t, a, l, "old", 2)
		time.Sleep(time.Millisecond)
		l.plan = "new"
		hasPlan(t, a, l, "new", 3)
		a.hear(true)
		hasPlan(t, a, l, "new", 4)
	})
}

func TestAccountsAreBounded(t *testing.T) {
	t.Parallel()
	a := accountsOf(&ledger{})
	for i := range 3 * maxAccounts / 2 {
		if _, err := a.ByUsername(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.known); n > maxAccounts {
		t.Errorf("%d accounts are remembered", n)
	}
}

// A key that another process has changed is no longer the one that counts as soon as the change is known.
func TestFreshnessTellsAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := NewFreshness(w.db)
	f.Accounts = NewAccounts(w.q)
	follow(t, f)
	commit(t, w.db, "accounts", 1, true)
	mustWait(t, f, "accounts", 1)
	for i := range uint64(20) {
		if _, err := f.Accounts.ByUsername(withPatience(t), "demo"); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint("key ", i)
		if _, err := w.db.NewRaw(`BEGIN; UPDATE linkledger.accounts SET key_hash = ?0 WHERE username = 'demo';
			SELECT pg_notify(?1, 'accounts changed someone '); SELECT pg_notify(?1, ?2); COMMIT`,
			key, readmodel.Channel, fmt.Sprint("accounts ", i+2)).Exec(withPatience(t)); err != nil {
			t.Fatal(err)
		}
		mustWait(t, f, "accounts", i+2)
		if after, err := f.Accounts.ByUsername(withPatience(t), "demo"); err != nil || after.KeyHash != key {
			t.Errorf("%s, %v; want %s", after.KeyHash, err, key)
		}
	}
}
