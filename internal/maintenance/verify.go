package maintenance

import (
	"context"
	"encoding/json"
	"fmt"

	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
	"linkledger/projections/readmodel"
)

// printedVerification is the printed form of the result of a verification.
type printedVerification struct {
	Name        string              `json:"name"`
	Generation  int                 `json:"generation"`
	Position    uint64              `json:"position"`
	Events      int64               `json:"events"`
	Rows        int64               `json:"rows"`
	Different   int64               `json:"different"`
	Differences []verify.Difference `json:"differences"` // the first of each table
}

// Verify replays the log and prints the rows of the serving tables that differ from the result.
func Verify(ctx context.Context, o installation.Operator, names []string) error {
	names = namesOrAll(names)
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		views, different := make([]printedVerification, 0, len(names)), int64(0)
		for _, name := range names {
			found, err := verifyProjection(ctx, o, db, store, name)
			if ctx.Err() != nil {
				return usage.Errorf("interrupted: nothing was changed")
			}
			if err != nil {
				return err
			}
			different += found.Different
			views = append(views, printedVerification{
				found.Name, found.Generation, found.Position.Commit, found.Events, found.Rows,
				found.Different, found.Differences,
			})
		}
		if err := printVerified(o, views); err != nil {
			return err
		}
		if different > 0 {
			return fmt.Errorf(
				"%d rows are not as the log says: projections rebuild repairs them", different,
			)
		}
		return nil
	})
}

// verifyProjection verifies one projection, with a progress bar on a terminal.
func verifyProjection(
	ctx context.Context, o installation.Operator, db *readmodel.DB, store *eventstore.Store,
	name string,
) (verify.Result, error) {
	if o.JSON || !console.IsTerminal(o.Stdout) {
		return projections.Verify(ctx, db, store, name, func([]status.Progress) {})
	}
	bars := newProgressBars(o.Stdout)
	found, err := projections.Verify(ctx, db, store, name, bars.update)
	bars.end(err == nil)
	return found, err
}

func printVerified(o installation.Operator, views []printedVerification) error {
	if o.JSON {
		return console.JSON(o.Stdout, views)
	}
	for _, v := range views {
		if err := console.Printf(o.Stdout, "%s generation %d at position %d: %d events, %d rows, "+
			"%d different\n",
			v.Name, v.Generation, v.Position, v.Events, v.Rows, v.Different); err != nil {
			return err
		}
		for _, d := range v.Differences {
			if err := console.Printf(o.Stdout, "  %s %s\n    found  %s\n    log    %s\n",
				d.Table, string(d.Key), rowOr(d.Found, "no such row"),
				rowOr(d.Replayed, "no such row")); err != nil {
				return err
			}
		}
		if more := v.Different - int64(len(v.Differences)); more > 0 {
			if err := console.Printf(o.Stdout, "  and %d more\n", more); err != nil {
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
	return string(row)
}
