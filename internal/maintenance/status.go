package maintenance

import (
	"context"
	"io"
	"strconv"
	"time"

	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// printedGeneration is the printed form of a generation.
type printedGeneration struct {
	Name       string       `json:"name"`
	Generation int          `json:"generation"`
	Serving    bool         `json:"serving"`
	Position   uint64       `json:"position"`
	LagEvents  int          `json:"lag_events"`
	LagSeconds float64      `json:"lag_seconds"`
	Rate       float64      `json:"rate"`
	State      status.State `json:"state"`
	Owner      string       `json:"owner"`
	LastError  string       `json:"last_error"`
}

func newPrintedGeneration(o status.Overview) printedGeneration {
	return printedGeneration{
		Name: o.Name, Generation: o.Generation, Serving: o.Serving, Position: o.Position.Commit,
		LagEvents:  o.LagEvents,
		LagSeconds: o.Lag.Seconds(), Rate: o.Rate, State: o.State, Owner: o.Owner,
		LastError: o.LastError,
	}
}

// overviews returns all generations with their progress, within installation.Timeout.
func overviews(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store,
) ([]printedGeneration, error) {
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	found, err := status.Overviews(ctx, projections.All(), db, store)
	views := make([]printedGeneration, len(found))
	for i, o := range found {
		views[i] = newPrintedGeneration(o)
	}
	return views, err
}

// List prints the projections and their generations.
func List(ctx context.Context, o installation.Operator) error {
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		views, err := overviews(ctx, db, store)
		if err != nil {
			return err
		}
		rows := console.Row{"name", "generation", "serving", "state"}
		return printGenerations(o, views, rows, func(v printedGeneration) console.Row {
			return console.Row{v.Name, v.Generation, v.Serving, v.State}
		})
	})
}

// Status prints the progress of each projection. If watch is set, it repeats that until ctx ends.
func Status(
	ctx context.Context, o installation.Operator, watch bool, interval time.Duration,
) error {
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			if err := printStatus(ctx, o, db, store, watch); err != nil || !watch {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	})
}

func printStatus(
	ctx context.Context, o installation.Operator, db *readmodel.DB, store *eventstore.Store,
	watch bool,
) error {
	views, err := overviews(ctx, db, store)
	if err != nil {
		if watch && ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is the normal end of --watch
		}
		return err
	}
	if watch && !o.JSON && console.IsTerminal(o.Stdout) {
		// The cursor moves to the top left, and the screen is cleared from there.
		if _, err := io.WriteString(console.Controls(o.Stdout), "\x1b[H\x1b[J"); err != nil {
			return err
		}
	}
	header := console.Row{
		"name", "generation", "state", "position", "lag events", "lag", "events/s", "owner",
		"last error",
	}
	return printGenerations(o, views, header, func(v printedGeneration) console.Row {
		lag := time.Duration(v.LagSeconds * float64(time.Second)).Round(time.Millisecond)
		return console.Row{
			v.Name, v.Generation, v.State, v.Position, v.LagEvents, lag,
			strconv.FormatFloat(v.Rate, 'f', 0, 64), v.Owner, v.LastError,
		}
	})
}

// printGenerations prints generations as a table or as JSON.
func printGenerations(
	o installation.Operator, views []printedGeneration, header console.Row,
	row func(printedGeneration) console.Row,
) error {
	if o.JSON {
		return console.JSON(o.Stdout, views)
	}
	rows := make([]console.Row, len(views))
	for i, v := range views {
		rows[i] = row(v)
	}
	return console.Table(o.Stdout, header, rows)
}
