package accountlist_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/queries/accountlist"
	"linkledger/queries/lookup"
	"linkledger/queries/queriestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

func TestAccounts(t *testing.T) {
	t.Parallel()
	w, ctx := queriestest.NewWorld(t), queriestest.WithTimeout(t)
	q := accountlist.New(w.DB)
	demo := accountlist.Account{
		ID: w.Account, Username: "demo", Plan: "free", Active: true,
		CreatedAt: queriestest.Noon,
	}
	other := accountlist.Account{
		ID: w.Other, Username: "Demo", Plan: "free", CreatedAt: queriestest.Noon,
	}
	account, err := q.AccountByUsername(ctx, "demo")
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, account, demo)
	accounts, err := q.Accounts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, accounts, []accountlist.Account{other, demo})
	for _, username := range []string{"none", "DEMO", "", "demo\x00"} {
		if _, err := q.AccountByUsername(ctx, username); !errors.Is(err, lookup.ErrNotFound) {
			t.Errorf("user name %q: %v", username, err)
		}
	}
}

func TestAccountCounters(t *testing.T) {
	t.Parallel()
	w, ctx := queriestest.NewWorld(t), queriestest.WithTimeout(t)
	q := accountlist.New(w.DB)
	elsewhere := time.FixedZone("", -5*3600)
	for _, tc := range []struct {
		now   time.Time
		month int64
	}{
		{queriestest.Noon, 3},
		{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 3},
		{time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), 0},
		{time.Date(2026, 3, 31, 20, 0, 0, 0, elsewhere), 0}, // April in UTC
	} {
		counters, err := q.AccountCounters(ctx, w.Account, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		queriestest.EqualJSON(t, counters, accountlist.Counters{URLs: 2, MonthURLs: tc.month})
		existing, err := q.LinkTotals(ctx, w.Account.String(), tc.now)
		if err != nil {
			t.Fatal(err)
		}
		queriestest.EqualJSON(t, existing, accountlist.LinkTotals{Created: 4, Deleted: 2, Month: tc.month})
	}
	if counters, err := q.AccountCounters(ctx, w.Other, queriestest.Noon); err != nil ||
		counters != (accountlist.Counters{MonthURLs: 1}) {
		t.Errorf("without a tally: %+v, %v", counters, err)
	}
	if _, err := q.AccountCounters(ctx, uuid.New(), queriestest.Noon); !errors.Is(err, lookup.ErrNotFound) {
		t.Errorf("counters of an unknown account: %v", err)
	}
}
