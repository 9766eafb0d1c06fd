package main

import (
	"context"
	"encoding/json"
	"fmt"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
	"linkledger/projections/readmodel"
)

type projectionsVerify struct {
	someProjections
}

// verificationView is what a verification found, as it is printed.
type verificationView struct {
	Name        string              `json:"name"`
	Generation  int                 `json:"generation"`
	Position    uint64              `json:"position"`
	Events      int64               `json:"events"`
	Rows        int64               `json:"rows"`
	Different   int64               `json:"different"`
	Differences []verify.Difference `json:"differences"` // the first of each table
}

// Run implements the command.
func (c *projectionsVerify) Run(ctx context.Context, p *process) error {
	names, err := c.names()
	if err != nil {
		return err
	}
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
		views, different := make([]verificationView, 0, len(names)), int64(0)
		for _, name := range names {
			found, err := c.verify(ctx, p, db, store, name)
			if ctx.Err() != nil {
				return usage("interrupted: nothing was changed")
			}
			if err != nil {
				return err
			}
			different += found.Different
			views = append(views, verificationView{
				found.Name, found.Generation, found.Position.Commit, found.Events, found.Rows, found.Different, found.Differences,
			})
		}
		if err := c.print(p, views); err != nil {
			return err
		}
		if different > 0 {
			return fmt.Errorf("%d rows are not as the log says: projections rebuild builds them anew", different)
		}
		return nil
	})
}

// verify verifies one projection, and shows how far it is where somebody is at the terminal.
func (c *projectionsVerify) verify(ctx context.Context, p *process, db *readmodel.DB, store *eventstore.Store, name string) (verify.Result, error) {
	if c.JSON || !isTerminal(p.stdout) {
		return projections.Verify(ctx, db, store, name, func([]status.Progress) {})
	}
	bars := newProgressBars(p)
	found, err := projections.Verify(ctx, db, store, name, bars.tell)
	bars.end(err == nil)
	return found, err
}

func (c *projectionsVerify) print(p *process, views []verificationView) error {
	if c.JSON {
		return printJSON(p.stdout, views)
	}
	for _, v := range views {
		if _, err := fmt.Fprintf(p.stdout, "%s generation %d at position %d: %d events, %d rows, %d different\n",
			v.Name, v.Generation, v.Position, v.Events, v.Rows, v.Different); err != nil {
			return err
		}
		for _, d := range v.Differences {
			if _, err := fmt.Fprintf(p.stdout, "  %s %s\n    found  %s\n    log    %s\n",
				d.Table, shownText(string(d.Key)), rowOr(d.Found, "no such row"), rowOr(d.Replayed, "no such row")); err != nil {
				return err
			}
		}
		if more := v.Different - int64(len(v.Differences)); more > 0 {
			if _, err := fmt.Fprintf(p.stdout, "  and %d more\n", more); err != nil {
				return err
			}
		}
	}
	return nil
}

func rowOr(row json.RawMessage, missing string) string {
	if row == nil {
		return missing
	}
	return shownText(string(row))
}
