package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/queries"
)

// undoPortion is how many links of a batch are undone at a time.
const undoPortion = 500

// auditRestore brings a link back.
type auditRestore struct {
	target
	Hash     string `arg:"" help:"Hash of the link, or its hash when it was deleted."`
	Revision *int64 `help:"Revision of an event in the link's stream, as audit history shows it. The link becomes as it was right after that event. Without it a deleted link is restored." placeholder:"N"`
}

// restoredView is a link that was restored as it is printed.
type restoredView struct {
	ID       string   `json:"id"`
	Account  string   `json:"account"`
	Hash     string   `json:"hash"`
	LongURL  string   `json:"long_url"`
	Tags     []string `json:"tags"`
	Position uint64   `json:"position"` // in the log
}

// Run implements the command.
func (c *auditRestore) Run(ctx context.Context, p *process) error {
	return c.auditing(ctx, p, func(ctx context.Context, store *eventstore.Store) error {
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		handler := c.handler(p, store)
		outcome := handler.RestoreURL(ctx, operatorRequest(), commands.RestoreURL{Hash: c.Hash, Version: c.Revision})
		if outcome.Err != nil {
			return outcome.Err
		}
		c.awaitShown(ctx, p, projections.Links, outcome.Position)
		u := outcome.URL
		view := restoredView{u.ID, u.Account, u.Hash, u.LongURL, outcome.Labels, outcome.Position.Commit}
		if c.JSON {
			return printJSON(p.stdout, view)
		}
		return printTable(p.stdout, table.Row{"hash", "long_url", "position", "link", "account"}, []table.Row{
			{view.Hash, fmt.Sprintf("%q", view.LongURL), view.Position, view.ID, view.Account},
		})
	})
}

// operatorRequest is a call of its own of an operator.
func operatorRequest() domain.Request {
	command := uuid.New()
	return domain.Request{Operator: true, ID: uuid.NewString(), Command: command, Batch: command.String()}
}

// auditUndo undoes a batch.
type auditUndo struct {
	target
	Batch string `arg:"" help:"Id of a batch, as audit history shows it."`
}

// undoneView is an undone batch as it is printed.
type undoneView struct {
	Batch   string        `json:"batch"`
	By      string        `json:"undone_by,omitempty"` // the batch that can be undone in turn; empty: nothing was changed
	Undone  int           `json:"undone"`
	Refused []refusedView `json:"refused"`
}

type refusedView struct {
	ID      string   `json:"id"`
	Hash    string   `json:"hash"`
	Details string   `json:"details"`
	Fields  []string `json:"fields,omitempty"` // that are in the way
}

// Run implements the command.
func (c *auditUndo) Run(ctx context.Context, p *process) error {
	batch, err := uuid.Parse(c.Batch)
	if err != nil {
		return usage("the id of a batch is a UUID, not %q", c.Batch)
	}
	if c.Database == "" {
		if err := c.locate(); err != nil {
			return err
		}
	}
	return c.auditing(ctx, p, func(ctx context.Context, store *eventstore.Store) error {
		db, err := c.openReadModels(ctx, 1)
		if err != nil {
			return err
		}
		handler := c.handler(p, store)
		view, last, err := undoBatch(ctx, handler, queries.New(db), batch)
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
		if view.Undone+len(view.Refused) == 0 {
			return usage("there is no link that a batch with the id %s changed", batch)
		}
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		c.awaitShown(ctx, p, projections.Links, last)
		return c.print(p, view)
	})
}

// undoBatch undoes a batch, whatever the account. It returns how far in the log it got.
func undoBatch(ctx context.Context, handler *commands.Handler, q *queries.DB, batch uuid.UUID) (undoneView, eventstore.Position, error) {
	request := operatorRequest()
	view := undoneView{Batch: batch.String(), Refused: []refusedView{}}
	var last eventstore.Position
	for after := uuid.Nil; ; {
		ids, err := q.BatchLinks(ctx, uuid.Nil, batch, after, undoPortion)
		if err != nil || len(ids) == 0 {
			return view, last, err
		}
		after = ids[len(ids)-1]
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = id.String()
		}
		for _, outcome := range handler.UndoBatch(ctx, request, batch.String(), texts) {
			if outcome.Position.After(last) {
				last = outcome.Position
			}
			if outcome.Changed {
				view.By = request.Batch
			}
			refused, ok := errors.AsType[*domain.Error](outcome.Err)
			switch {
			case outcome.Err == nil:
				view.Undone++
			case ok:
				view.Refused = append(view.Refused, refusedView{outcome.URL.ID, outcome.URL.Hash, refused.Details, refused.Fields})
			default:
				return view, last, fmt.Errorf("undo %s, of which %d links are done: %w", batch, view.Undone, outcome.Err)
			}
		}
	}
}

// print tells what was done. Links that were left as they are make it an error.
func (c *auditUndo) print(p *process, view undoneView) error {
	var err error
	if c.JSON {
		err = printJSON(p.stdout, view)
	} else {
		rows := make([]table.Row, len(view.Refused))
		for i, r := range view.Refused {
			rows[i] = table.Row{r.Hash, r.Details, r.ID}
		}
		if len(rows) > 0 {
			err = printTable(p.stdout, table.Row{"hash", "left as it is", "link"}, rows)
		}
		by := "and were so already"
		if view.By != "" {
			by = "by batch " + view.By
		}
		if err == nil && view.Undone > 0 {
			_, err = fmt.Fprintf(p.stdout, "%d links are as they were, %s\n", view.Undone, by)
		}
	}
	if err == nil && len(view.Refused) > 0 {
		err = fmt.Errorf("%d of %d links were left as they are", len(view.Refused), view.Undone+len(view.Refused))
	}
	return err
}
