package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/commands/metering"
	"linkledger/events/eventstore"
	"linkledger/queries"
)

type accountList struct {
	target
}

// Run implements the command.
func (c *accountList) Run(ctx context.Context, p *process) error {
	var accounts []queries.Account
	err := c.ask(ctx, func(ctx context.Context, q *queries.DB) (err error) {
		accounts, err = q.Accounts(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		views := make([]accountView, len(accounts))
		for i, a := range accounts {
			views[i] = accountViewOf(a)
		}
		return json.NewEncoder(p.stdout).Encode(views) //nolint:gosec // without keys, which are stored nowhere
	}
	rows := table.NewWriter()
	rows.SetStyle(table.StyleLight)
	rows.AppendHeader(table.Row{"user name", "plan", "active", "expires", "erased", "opened", "account id"})
	for _, a := range accounts {
		rows.AppendRow(table.Row{a.Username, a.Plan, a.Active, a.ExpirationDate, a.Erased, a.CreatedAt.UTC().Format(time.DateTime), a.ID})
	}
	_, err = fmt.Fprintln(p.stdout, rows.Render())
	return err
}

// ask has a question answered by the read models.
func (t *target) ask(ctx context.Context, question func(context.Context, *queries.DB) error) error {
	if t.Database == "" {
		if err := t.locate(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	db, err := t.openReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(question(ctx, queries.New(db)), db.Close())
}

type accountShow struct {
	target
	Username string `help:"User name of the account." required:""`
}

// accountUse is an account with what it has used.
type accountUse struct {
	accountView
	URLs          int64 `json:"urls"`
	MonthURLs     int64 `json:"month_urls"`
	TodayAPICalls int64 `json:"today_api_calls"` // that the nodes have told
}

// Run implements the command.
func (c *accountShow) Run(ctx context.Context, p *process) error {
	if err := c.locate(); err != nil {
		return err
	}
	store, err := eventstore.Open(eventstore.Config{URL: string(c.EventStore), Logger: p.logger})
	if err != nil {
		return usageError{err}
	}
	defer store.Close()
	var account accountUse
	err = c.ask(ctx, func(ctx context.Context, q *queries.DB) error {
		found, err := q.AccountByUsername(ctx, c.Username)
		if err != nil {
			return err
		}
		counters, err := q.AccountCounters(ctx, found.ID, time.Now())
		account = accountUse{accountView: accountViewOf(found), URLs: counters.URLs, MonthURLs: counters.MonthURLs}
		return err
	})
	if errors.Is(err, queries.ErrNotFound) {
		return usage("there is no account %q", c.Username)
	}
	if err != nil {
		return err
	}
	account.TodayAPICalls = metering.New(metering.Config{Store: store, Logger: p.logger}).Today(ctx, account.ID)
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(account)
	}
	rows := table.NewWriter()
	rows.SetStyle(table.StyleLight)
	rows.AppendRows(account.rows())
	rows.AppendRows([]table.Row{{"links", account.URLs}, {"links created this month", account.MonthURLs}, {"API calls today", account.TodayAPICalls}})
	_, err = fmt.Fprintln(p.stdout, rows.Render())
	return err
}
