package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/queries"
	"linkledger/queries/progress"
)

// commandTimeout bounds an operator command.
const commandTimeout = 10 * time.Second

// accountCommand opens and manages accounts of a running installation.
type accountCommand struct {
	Create     accountCreate     `cmd:"" help:"Open an account and print its id and API key."`
	List       accountList       `cmd:"" help:"List all accounts."`
	RotateKey  accountRotateKey  `cmd:"" help:"Replace the API key of an account. The old key stops working."`
	Deactivate accountDeactivate `cmd:"" help:"Close the API to an account and stop its links."`
	Reactivate accountReactivate `cmd:"" help:"Undo deactivate."`
	Edit       accountEdit       `cmd:"" help:"Change the plan or the last day of an account."`
	Erase      accountErase      `cmd:"" help:"Close an account for ever and make its notes unreadable."`
	Show       accountShow       `cmd:"" help:"Show an account and what it has used."`
}

// target is a place of which an operator command tells.
type target struct {
	place
	JSON bool `name:"json" help:"Print JSON."`
}

// change runs one command on an account and prints what it made.
func (t *target) change(ctx context.Context, p *process, command func(context.Context, *accounts.Accounts, domain.Request) (accounts.Outcome, error)) error {
	if t.EventStore == "" {
		if err := t.locate(); err != nil {
			return err
		}
	}
	store, err := eventstore.Open(eventstore.Config{URL: string(t.EventStore), Logger: p.logger})
	if err != nil {
		return usageError{err}
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	outcome, err := command(ctx, t.accounts(store), domain.Request{Command: uuid.New(), ID: uuid.NewString()})
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return usageError{err}
	}
	if errors.Is(err, eventstore.ErrUnavailable) {
		return usage("no event store answers at %s: is it running?", t.EventStore)
	}
	if err != nil {
		return explainedKey(err)
	}
	t.awaitShown(ctx, p, projections.Accounts, outcome.Position)
	return t.print(p.stdout, outcome)
}

// awaitShown returns when the API shows a change, or says that it does not yet.
func (t *target) awaitShown(ctx context.Context, p *process, projection string, position eventstore.Position) {
	if err := t.await(ctx, projection, position); err != nil {
		p.logger.WarnContext(ctx, "done, but the read model does not show it yet: is a projector running?", slog.Any("error", err))
	}
}

// await returns when a projection knows of a change, so that a new key, for instance, can be used as soon as it is
// printed. Where only the event store was named, it cannot tell.
func (t *target) await(ctx context.Context, projection string, position eventstore.Position) error {
	if t.Database == "" {
		return nil
	}
	db, err := t.openReadModels(ctx, 1)
	if err != nil {
		return err
	}
	fresh := progress.NewWaiter(db)
	following, stop := context.WithCancel(ctx)
	var followed sync.WaitGroup
	followed.Go(func() { fresh.Run(following) })
	err = fresh.Wait(ctx, projection, position.Commit)
	stop()
	followed.Wait()
	return errors.Join(err, db.Close())
}

// accountView is an account as it is printed.
type accountView struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Plan     string `json:"plan"`
	Active   bool   `json:"active"`
	Expires  string `json:"expires"` // YYYY-MM-DD; empty: never
	Erased   bool   `json:"erased"`
	KeyID    string `json:"key_id"`
	APIKey   string `json:"api_key,omitempty"` // new ones only
}

func accountViewOf(a queries.Account) accountView {
	return accountView{ID: a.ID.String(), Username: a.Username, Plan: a.Plan, Active: a.Active, Expires: a.ExpirationDate, Erased: a.Erased, KeyID: a.KeyID}
}

// rows are what a table shows of an account.
func (v accountView) rows() []table.Row {
	rows := []table.Row{
		{"account id", v.ID}, {"user name", v.Username}, {"plan", v.Plan}, {"active", v.Active}, {"expires", cmp.Or(v.Expires, "never")},
	}
	if v.Erased {
		rows = append(rows, table.Row{"erased", v.Erased})
	}
	return rows
}

func (t *target) print(w io.Writer, outcome accounts.Outcome) error {
	account := accountView{
		ID: outcome.Account.ID, Username: outcome.Account.Username, Plan: outcome.Account.Plan,
		Active: outcome.Account.Active, Expires: outcome.Account.ExpirationDate, Erased: outcome.Account.Erased, KeyID: outcome.Account.KeyID, APIKey: outcome.Key,
	}
	if t.JSON {
		return json.NewEncoder(w).Encode(account) //nolint:gosec // the new key is what the operator asked for
	}
	rows := table.NewWriter()
	rows.SetStyle(table.StyleLight)
	rows.AppendRows(account.rows())
	if account.APIKey != "" {
		rows.AppendRows([]table.Row{{"API key", account.APIKey}, {"", "shown once, it is stored nowhere"}})
	}
	_, err := fmt.Fprintln(w, rows.Render())
	return err
}

type accountCreate struct {
	target
	Username string `help:"User name: 1 to 64 of a-z 0-9 . _ -" required:""`
	Plan     string `help:"Plan of the account. See serve --plans." default:"free"`
}

// Run implements the command.
func (c *accountCreate) Run(ctx context.Context, p *process) error {
	return c.change(ctx, p, func(ctx context.Context, a *accounts.Accounts, r domain.Request) (accounts.Outcome, error) {
		return a.Open(ctx, r, c.Username, c.Plan)
	})
}

type accountRotateKey struct {
	target
	Username string `help:"User name of the account." required:""`
}

// Run implements the command.
func (c *accountRotateKey) Run(ctx context.Context, p *process) error {
	return c.change(ctx, p, func(ctx context.Context, a *accounts.Accounts, r domain.Request) (accounts.Outcome, error) {
		return a.RotateKey(ctx, r, c.Username)
	})
}

type accountDeactivate struct {
	target
	Username string `help:"User name of the account." required:""`
}

// Run implements the command.
func (c *accountDeactivate) Run(ctx context.Context, p *process) error {
	return c.change(ctx, p, func(ctx context.Context, a *accounts.Accounts, r domain.Request) (accounts.Outcome, error) {
		return a.Deactivate(ctx, r, c.Username)
	})
}

type accountReactivate struct {
	target
	Username string `help:"User name of the account." required:""`
}

// Run implements the command.
func (c *accountReactivate) Run(ctx context.Context, p *process) error {
	return c.change(ctx, p, func(ctx context.Context, a *accounts.Accounts, r domain.Request) (accounts.Outcome, error) {
		return a.Reactivate(ctx, r, c.Username)
	})
}

type accountEdit struct {
	target
	Username string  `help:"User name of the account." required:""`
	Plan     *string `help:"Plan of the account. See serve --plans."`
	Expires  *string `help:"Last day of the account, YYYY-MM-DD, in UTC. Empty: it never expires." placeholder:"DATE"`
}

// Run implements the command.
func (c *accountEdit) Run(ctx context.Context, p *process) error {
	if c.Plan == nil && c.Expires == nil {
		return usage("nothing to change: give --plan or --expires")
	}
	return c.change(ctx, p, func(ctx context.Context, a *accounts.Accounts, r domain.Request) (accounts.Outcome, error) {
		return a.Edit(ctx, r, c.Username, accounts.Change{Plan: c.Plan, ExpirationDate: c.Expires})
	})
}
