package auditor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/internal/installation"
	"linkledger/queries"
)

// HistoryQuery says which history to print, and how.
type HistoryQuery struct {
	Hash    string
	Account string // user name or id; empty for all accounts
	// By is the id or name of a key or a person. Only their events are printed. Empty: all events.
	By     string
	Clicks bool   // print each click, not the number of clicks per day
	Format string // table, json, ndjson or csv
}

// History prints all events of a hash and of the links that ever used it.
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
		return out.print(printed, func(all func(audit.Entry) error) error {
			visit := func(e audit.Entry) error {
				if q.By != "" && !slices.Contains(
					[]string{e.Actor.Key, e.Actor.KeyName, e.Actor.User, e.Actor.UserName}, q.By,
				) {
					return nil
				}
				return all(e)
			}
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

// accountNamed returns the id of an account by its id or user name. It returns an empty id for an
// empty name.
func accountNamed(ctx context.Context, known *accounts.Accounts, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if id, err := uuid.Parse(name); err == nil {
		return id.String(), nil
	}
	return known.ID(ctx, name)
}

// usernames returns a function that returns the user name of an account, or its id if it has none.
// The function looks each account up once.
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

// printedHistory is the printed form of a history with the clicks per day.
type printedHistory struct {
	audit.History

	Links []printedLife `json:"links"`
}

type printedLife struct {
	audit.LinkLife

	// DailyClicks has the clicks of each day, YYYY-MM-DD, since the last reset.
	DailyClicks map[string]dayClicks `json:"daily_clicks,omitempty"`
	days        []queries.Day
}

type dayClicks struct {
	Total  int64 `json:"total"`
	Unique int64 `json:"unique"`
}

// lives adds the clicks per day to links, unless each click is printed.
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

// daySummary is the type of an entry that has the clicks of a day instead of an event.
const daySummary = "clicks of the day"

// days returns the clicks per day as entries, for formats that are lists of entries.
func (h printedHistory) days() []audit.Entry {
	var entries []audit.Entry
	for _, link := range h.Links {
		for _, day := range link.days {
			at, _ := time.Parse(time.DateOnly, day.Date) // the query wrote it in this form
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
