package main

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/queries"
)

// auditHistory tells the history of a hash.
type auditHistory struct {
	place
	Hash    string `arg:"" help:"Hash of a link, now or at any time."`
	Account string `help:"User name or id of an account. Only its links are shown." placeholder:"NAME"`
	Clicks  bool   `help:"Show each click instead of one count a day. This reads the log from the first claim of the hash on."`
	Format  string `help:"Output format: table, json, ndjson or csv." enum:"table,json,ndjson,csv" default:"table"`
}

// Run implements the command.
func (c *auditHistory) Run(ctx context.Context, p *process) error {
	return c.auditing(ctx, p, func(ctx context.Context, store *eventstore.Store) error {
		accounts, reader := c.accounts(store), c.reader(p, store)
		account, err := accountNamed(ctx, accounts, c.Account)
		if err != nil {
			return err
		}
		history, err := reader.History(ctx, audit.HistoryQuery{Hash: c.Hash, Account: account})
		if err != nil {
			return err
		}
		told := toldHistory{History: history}
		if told.Links, err = c.lives(ctx, history.Links); err != nil {
			return err
		}
		out := historyPrinter{out: p.stdout, format: c.Format, username: usernames(ctx, accounts)}
		return out.print(told, func(visit func(audit.Entry) error) error {
			if c.Clicks {
				return reader.Replay(ctx, history, visit)
			}
			for _, entry := range append(history.Entries, told.days()...) {
				if err := visit(entry); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// usernames returns what tells the user names of accounts, each of which is looked up once; the id stands for one that is
// not there.
func usernames(ctx context.Context, accounts *accounts.Accounts) func(account string) (string, error) {
	known := make(map[string]string)
	return func(account string) (string, error) {
		if name, ok := known[account]; ok {
			return name, nil
		}
		name, err := accounts.Username(ctx, account)
		if _, refused := errors.AsType[*domain.Error](err); refused {
			name, err = account, nil
		}
		known[account] = name
		return name, err
	}
}

// toldHistory is a history with the clicks of each day.
type toldHistory struct {
	audit.History

	Links []toldLife `json:"links"`
}

type toldLife struct {
	audit.LinkLife

	DailyClicks map[string]dayClicks `json:"daily_clicks,omitempty"` // since the last reset, by day, YYYY-MM-DD
	days        []queries.Day
}

type dayClicks struct {
	Total  int64 `json:"total"`
	Unique int64 `json:"unique"`
}

// lives adds the clicks of each day, unless every click is told.
func (c *auditHistory) lives(ctx context.Context, links []audit.LinkLife) ([]toldLife, error) {
	lives := make([]toldLife, len(links))
	ids := make([]uuid.UUID, len(links))
	for i, link := range links {
		lives[i].LinkLife = link
		var err error
		if ids[i], err = uuid.Parse(link.ID); err != nil {
			return nil, err
		}
	}
	if c.Clicks {
		return lives, nil
	}
	if c.Database == "" {
		if err := c.locate(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	db, err := c.openReadModels(ctx, 1)
	if err != nil {
		return nil, err
	}
	clicks, err := queries.New(db).DailyClicks(ctx, ids)
	for i := range lives {
		lives[i].days = clicks[ids[i]]
		lives[i].DailyClicks = make(map[string]dayClicks)
		for _, day := range lives[i].days {
			lives[i].DailyClicks[day.Date] = dayClicks{Total: day.Total, Unique: day.Unique}
		}
	}
	return lives, errors.Join(err, db.Close())
}

// daySummary stands for the type of an event where a line tells the clicks of a day.
const daySummary = "clicks of the day"

// days returns the clicks of each day in the form of entries, for formats that are lists of them.
func (h toldHistory) days() []audit.Entry {
	var entries []audit.Entry
	for _, link := range h.Links {
		for _, day := range link.days {
			at, _ := time.Parse(time.DateOnly, day.Date) // as the query wrote it
			entries = append(entries, audit.Entry{
				Type: daySummary, Time: at, Link: link.ID, Actor: audit.Actor{Kind: audit.ByVisitor},
				Changes: []audit.FieldChange{{Field: "total_clicks", After: day.Total}, {Field: "unique_clicks", After: day.Unique}},
			})
		}
	}
	return entries
}
