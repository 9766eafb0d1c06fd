package accountadmin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"linkledger/commands/accounts"
	"linkledger/commands/metering"
	"linkledger/events"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// printedAccount is the printed form of an account.
type printedAccount struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Plan     string `json:"plan"`
	Active   bool   `json:"active"`
	Expires  string `json:"expires"` // YYYY-MM-DD, or empty for never
	Erased   bool   `json:"erased"`
	LostKey  bool   `json:"lost_key,omitempty"` // see accountlist.Account
	KeyID    string `json:"key_id,omitempty"`   // of a new key only
	APIKey   string `json:"api_key,omitempty"`  // as KeyID
}

func newPrintedAccount(a accountlist.Account) printedAccount {
	return printedAccount{
		ID: a.ID.String(), Username: a.Username, Plan: a.Plan, Active: a.Active,
		Expires: a.ExpirationDate, Erased: a.Erased, LostKey: a.LostKey,
	}
}

// rows returns the rows of a table that shows the account.
func (v printedAccount) rows() []console.Row {
	rows := []console.Row{
		{"account id", v.ID},
		{"user name", v.Username},
		{"plan", v.Plan},
		{"active", v.Active},
		{"expires", cmp.Or(v.Expires, "never")},
	}
	if v.Erased {
		rows = append(rows, console.Row{"erased", v.Erased})
	}
	return rows
}

// printOutcome prints the account after a command.
func printOutcome(o installation.Operator, outcome accounts.Outcome) error {
	account := printedAccount{
		ID: outcome.Account.ID, Username: outcome.Account.Username, Plan: outcome.Account.Plan,
		Active: outcome.Account.Active, Expires: outcome.Account.ExpirationDate,
		Erased: outcome.Account.Erased, APIKey: outcome.Key,
	}
	if outcome.Key != "" {
		account.KeyID = outcome.Account.Keys[len(outcome.Account.Keys)-1].ID
	}
	if o.JSON {
		//nolint:gosec // the new key is what the operator asked for
		return json.NewEncoder(o.Stdout).Encode(account)
	}
	rows := account.rows()
	if account.APIKey != "" {
		rows = append(
			rows, console.Row{"API key", account.APIKey},
			console.Row{"", "shown once, it is stored nowhere"},
		)
	}
	return console.Drawn(o.Stdout, nil, rows)
}

// List prints all accounts.
func List(ctx context.Context, o installation.Operator) error {
	var accounts []accountlist.Account
	err := o.Query(ctx, func(ctx context.Context, q *queries.DB) (err error) {
		accounts, err = q.Accounts(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if o.JSON {
		views := make([]printedAccount, len(accounts))
		for i, a := range accounts {
			views[i] = newPrintedAccount(a)
		}
		//nolint:gosec // it has no keys: they are stored nowhere
		return json.NewEncoder(o.Stdout).Encode(views)
	}
	heading := console.Row{
		"user name", "plan", "active", "expires", "erased", "opened", "account id",
	}
	lost := slices.ContainsFunc(accounts, func(a accountlist.Account) bool { return a.LostKey })
	if lost {
		heading = append(heading, "old notes")
	}
	rows := make([]console.Row, len(accounts))
	for i, a := range accounts {
		rows[i] = console.Row{
			a.Username, a.Plan, a.Active, a.ExpirationDate, a.Erased,
			a.CreatedAt.UTC().Format(time.DateTime), a.ID,
		}
		switch {
		case a.LostKey:
			rows[i] = append(rows[i], events.LostKey)
		case lost:
			rows[i] = append(rows[i], "")
		}
	}
	return console.Drawn(o.Stdout, heading, rows)
}

// printedUsage is the printed form of an account with its usage.
type printedUsage struct {
	printedAccount
	URLs          int64 `json:"urls"`
	MonthURLs     int64 `json:"month_urls"`
	TodayAPICalls int64 `json:"today_api_calls"` // as far as the nodes have reported
}

// Show prints an account and its usage.
func Show(ctx context.Context, o installation.Operator, username string) error {
	if err := o.Locate(); err != nil {
		return err
	}
	store, err := o.OpenStore()
	if err != nil {
		return err
	}
	defer store.Close()
	var account printedUsage
	err = o.Query(ctx, func(ctx context.Context, q *queries.DB) error {
		found, err := q.AccountByUsername(ctx, username)
		if err != nil {
			return err
		}
		counters, err := q.AccountCounters(ctx, found.ID, time.Now())
		account = printedUsage{
			printedAccount: newPrintedAccount(found), URLs: counters.URLs,
			MonthURLs: counters.MonthURLs,
		}
		return err
	})
	if errors.Is(err, queries.ErrNotFound) {
		return usage.Errorf("there is no account %q", username)
	}
	if err != nil {
		return err
	}
	account.TodayAPICalls = metering.New(metering.Config{Store: store, Logger: o.Logger}).Today(
		ctx, account.ID,
	)
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(account)
	}
	return console.Drawn(o.Stdout, nil, append(
		account.rows(),
		console.Row{"links", account.URLs},
		console.Row{"links created this month", account.MonthURLs},
		console.Row{"API calls today", account.TodayAPICalls},
	))
}
