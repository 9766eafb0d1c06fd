package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/internal/installation"
	"linkledger/queries"
)

// HistoryQuery asks for the history of a hash.
type HistoryQuery struct {
	Hash    string
	Account string // user name or id; empty: whose the links are does not matter
	Clicks  bool   // each of them, in place of the clicks of each day
	Format  string // table, json, ndjson or csv
}

// History prints everything that happened to a hash and to the links that ever lived under it.
func History(ctx context.Context, o installation.Operator, q HistoryQuery) error {
	return o.WithLog(ctx, func(ctx context.Context, store *eventstore.Store) error {
		known, reader := o.Accounts(store), o.Auditor(store)
		account, err := accountNamed(ctx, known, q.Account)
		if err != nil {
			return err
		}
		history, err := reader.History(ctx, audit.HistoryQuery{Hash: q.Hash, Account: account})
		if err != nil {
			return err
		}
		printed := printedHistory{History: history}
		if printed.Links, err = q.lives(ctx, o, history.Links); err != nil {
			return err
		}
		out := historyPrinter{out: o.Stdout, format: q.Format, username: usernames(ctx, known)}
		return out.print(printed, func(visit func(audit.Entry) error) error {
			if q.Clicks {
				return reader.Replay(ctx, history, visit)
			}
			for _, entry := range append(history.Entries, printed.days()...) {
				if err := visit(entry); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// accountNamed returns the id of an account that is given by its id or its user name; nothing for
// nothing.
func accountNamed(ctx context.Context, known *accounts.Accounts, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if id, err := uuid.Parse(name); err == nil {
		return id.String(), nil
	}
	return known.ID(ctx, name)
}

// usernames returns what tells the user names of accounts, each of which is looked up once; the id
// stands for one that is not there.
func usernames(ctx context.Context, all *accounts.Accounts) func(account string) (string, error) {
	known := make(map[string]string)
	return func(account string) (string, error) {
		if name, ok := known[account]; ok {
			return name, nil
		}
		name, err := all.Username(ctx, account)
		if _, refused := errors.AsType[*domain.Error](err); refused {
			name, err = account, nil
		}
		known[account] = name
		return name, err
	}
}

// printedHistory is a history with the clicks of each day.
type printedHistory struct {
	audit.History

	Links []printedLife `json:"links"`
}

type printedLife struct {
	audit.LinkLife

	// since the last reset, by day, YYYY-MM-DD
	DailyClicks map[string]dayClicks `json:"daily_clicks,omitempty"`
	days        []queries.Day
}

type dayClicks struct {
	Total  int64 `json:"total"`
	Unique int64 `json:"unique"`
}

// lives adds the clicks of each day, unless every click is told.
func (q HistoryQuery) lives(
	ctx context.Context, o installation.Operator, links []audit.LinkLife,
) ([]printedLife, error) {
	lives := make([]printedLife, len(links))
	ids := make([]uuid.UUID, len(links))
	for i, link := range links {
		lives[i].LinkLife = link
		var err error
		if ids[i], err = uuid.Parse(link.ID); err != nil {
			return nil, err
		}
	}
	if q.Clicks {
		return lives, nil
	}
	if o.Database == "" {
		if err := o.Locate(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	db, err := o.OpenReadModels(ctx, 1)
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
func (h printedHistory) days() []audit.Entry {
	var entries []audit.Entry
	for _, link := range h.Links {
		for _, day := range link.days {
			at, _ := time.Parse(time.DateOnly, day.Date) // as the query wrote it
			entries = append(entries, audit.Entry{
				Type: daySummary, Time: at, Link: link.ID,
				Actor: audit.Actor{Kind: audit.ByVisitor},
				Changes: []audit.FieldChange{
					{Field: "total_clicks", After: day.Total},
					{Field: "unique_clicks", After: day.Unique},
				},
			})
		}
	}
	return entries
}
