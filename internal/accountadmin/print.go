package accountadmin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/commands/accounts"
	"linkledger/commands/metering"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/queries"
)

// printedAccount is an account as it is printed.
type printedAccount struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Plan     string `json:"plan"`
	Active   bool   `json:"active"`
	Expires  string `json:"expires"` // YYYY-MM-DD, or empty for never
	Erased   bool   `json:"erased"`
	KeyID    string `json:"key_id,omitempty"`  // of a new key only
	APIKey   string `json:"api_key,omitempty"` // as KeyID
}

func newPrintedAccount(a queries.Account) printedAccount {
	return printedAccount{
		ID: a.ID.String(), Username: a.Username, Plan: a.Plan, Active: a.Active,
		Expires: a.ExpirationDate, Erased: a.Erased,
	}
}

// rows returns the rows of a table that shows the account.
func (v printedAccount) rows() []table.Row {
	rows := []table.Row{
		{"account id", v.ID},
		{"user name", v.Username},
		{"plan", v.Plan},
		{"active", v.Active},
		{"expires", cmp.Or(v.Expires, "never")},
	}
	if v.Erased {
		rows = append(rows, table.Row{"erased", v.Erased})
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
	rows := table.NewWriter()
	rows.SetStyle(table.StyleLight)
	rows.AppendRows(account.rows())
	if account.APIKey != "" {
		rows.AppendRows(
			[]table.Row{{"API key", account.APIKey}, {"", "shown once, it is stored nowhere"}},
		)
	}
	_, err := fmt.Fprintln(o.Stdout, rows.Render())
	return err
}

// List prints all accounts.
func List(ctx context.Context, o installation.Operator) error {
	var accounts []queries.Account
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
		//nolint:gosec // without keys, which are stored nowhere
		return json.NewEncoder(o.Stdout).Encode(views)
	}
	rows := table.NewWriter()
	rows.SetStyle(table.StyleLight)
	rows.AppendHeader(
		table.Row{"user name", "plan", "active", "expires", "erased", "opened", "account id"},
	)
	for _, a := range accounts {
		rows.AppendRow(
			table.Row{
				a.Username, a.Plan, a.Active, a.ExpirationDate, a.Erased,
				a.CreatedAt.UTC().Format(time.DateTime), a.ID,
			},
		)
	}
	_, err = fmt.Fprintln(o.Stdout, rows.Render())
	return err
}

// printedUsage is an account with its usage as it is printed.
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
	rows := table.NewWriter()
	rows.SetStyle(table.StyleLight)
	rows.AppendRows(account.rows())
	rows.AppendRows(
		[]table.Row{
			{"links", account.URLs},
			{"links created this month", account.MonthURLs},
			{"API calls today", account.TodayAPICalls},
		},
	)
	_, err = fmt.Fprintln(o.Stdout, rows.Render())
	return err
}
