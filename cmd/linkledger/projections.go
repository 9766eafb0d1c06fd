package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/rebuild"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// projectionsCommand watches and steers the projections of a running installation.
type projectionsCommand struct {
	List        projectionsList        `cmd:"" help:"List the projections and their generations."`
	Status      projectionsStatus      `cmd:"" help:"Show how far each projection is, and which process owns it."`
	Pause       projectionsPause       `cmd:"" help:"Stop the updates of a projection until it is resumed."`
	Resume      projectionsResume      `cmd:"" help:"End a pause, or let a stopped projection try again at once."`
	Verify      projectionsVerify      `cmd:"" help:"Replay the log and compare the result with the tables that serve, row by row."`
	Rebuild     projectionsRebuild     `cmd:"" help:"Build the next generation beside the one that serves, and switch readers to it."`
	Rollback    projectionsRollback    `cmd:"" help:"Switch readers back to the previous generation."`
	Prune       projectionsPrune       `cmd:"" help:"Delete the generations that do not serve."`
	DeadLetters projectionsDeadLetters `cmd:"" help:"List, retry or discard the events that were set aside."`
}

// operatorConnections bounds the PostgreSQL connections of an operator command.
const operatorConnections = 8

// operate runs an operator command on the database and the event store of the installation.
func (t *place) operate(ctx context.Context, p *process, command operatorCommand) error {
	return t.operateWithin(ctx, p, operatorConnections, command)
}

type operatorCommand = func(context.Context, *readmodel.DB, *eventstore.Store) error

// operateWithin bounds the connections that stay open by a number.
func (t *place) operateWithin(ctx context.Context, p *process, connections int, command operatorCommand) error {
	if err := t.locate(); err != nil {
		return err
	}
	store, err := eventstore.Open(eventstore.Config{URL: string(t.EventStore), Logger: p.logger})
	if err != nil {
		return usageError{err}
	}
	defer store.Close()
	db, err := t.openReadModels(ctx, connections)
	if err != nil {
		return err
	}
	return errors.Join(explained(command(ctx, db, store), t), db.Close())
}

// explained says what an operator can do about an error.
func explained(err error, t *place) error {
	switch {
	case errors.Is(err, projection.ErrUnknown):
		return usage("%w (linkledger projections list names them)", err)
	case errors.Is(err, generation.ErrPaused), errors.Is(err, rebuild.ErrNoGeneration), errors.Is(err, generation.ErrOtherShape),
		errors.Is(err, rebuild.ErrBehind), errors.Is(err, verify.ErrDisturbed), errors.Is(err, projections.ErrOtherLog),
		errors.Is(err, eventstore.ErrPositionInvalid):
		return usageError{err}
	case errors.Is(err, generation.ErrNotPrepared):
		return usage("%w: start linkledger serve or dev once", err)
	case errors.Is(err, eventstore.ErrUnavailable):
		return usage("no event store answers at %s: is it running?", t.EventStore)
	}
	return explainedKey(err)
}

// projectionView is a generation as it is printed.
type projectionView struct {
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

func viewOf(o status.Overview) projectionView {
	return projectionView{
		Name: o.Name, Generation: o.Generation, Serving: o.Serving, Position: o.Position.Commit, LagEvents: o.LagEvents,
		LagSeconds: o.Lag.Seconds(), Rate: o.Rate, State: o.State, Owner: o.Owner, LastError: o.LastError,
	}
}

// overviews asks for all projections within the time of an operator command.
func overviews(ctx context.Context, db *readmodel.DB, store *eventstore.Store) ([]projectionView, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	found, err := projections.Overviews(ctx, db, store)
	views := make([]projectionView, len(found))
	for i, o := range found {
		views[i] = viewOf(o)
	}
	return views, err
}

type projectionsList struct {
	target
}

// Run implements the command.
func (c *projectionsList) Run(ctx context.Context, p *process) error {
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
		views, err := overviews(ctx, db, store)
		if err != nil {
			return err
		}
		rows := table.Row{"name", "generation", "serving", "state"}
		return c.show(p, views, rows, func(v projectionView) table.Row {
			return table.Row{v.Name, v.Generation, v.Serving, v.State}
		})
	})
}

type projectionsStatus struct {
	target
	Watch    bool          `help:"Repeat the output until Ctrl-C."`
	Interval time.Duration `help:"Time between two outputs of --watch." default:"1s"`
}

// Run implements the command.
func (c *projectionsStatus) Run(ctx context.Context, p *process) error {
	if c.Interval < 100*time.Millisecond {
		return usage("%s is not valid for --interval: give at least 100ms", c.Interval)
	}
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
		ticker := time.NewTicker(c.Interval)
		defer ticker.Stop()
		for {
			if err := c.showOnce(ctx, p, db, store); err != nil || !c.Watch {
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

func (c *projectionsStatus) showOnce(ctx context.Context, p *process, db *readmodel.DB, store *eventstore.Store) error {
	views, err := overviews(ctx, db, store)
	if err != nil {
		if c.Watch && ctx.Err() != nil {
			return nil
		}
		return err
	}
	if c.Watch && !c.JSON && isTerminal(p.stdout) {
		if _, err := fmt.Fprint(p.stdout, "\x1b[H\x1b[J"); err != nil { // home, and clear what follows
			return err
		}
	}
	header := table.Row{"name", "generation", "state", "position", "lag events", "lag", "events/s", "owner", "last error"}
	return c.show(p, views, header, func(v projectionView) table.Row {
		lag := time.Duration(v.LagSeconds * float64(time.Second)).Round(time.Millisecond)
		return table.Row{
			v.Name, v.Generation, v.State, v.Position, v.LagEvents, lag, strconv.FormatFloat(v.Rate, 'f', 0, 64), v.Owner, v.LastError,
		}
	})
}

// show prints generations as a table or as JSON.
func (t *target) show(p *process, views []projectionView, header table.Row, row func(projectionView) table.Row) error {
	if t.JSON {
		return printJSON(p.stdout, views)
	}
	rows := make([]table.Row, len(views))
	for i, v := range views {
		rows[i] = row(v)
	}
	return printTable(p.stdout, header, rows)
}

type projectionsPause struct {
	target
	Name string `arg:"" help:"Name of the projection."`
}

// Run implements the command.
func (c *projectionsPause) Run(ctx context.Context, p *process) error {
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		return projections.Pause(ctx, db, c.Name)
	})
}

type projectionsResume struct {
	target
	Name string `arg:"" help:"Name of the projection."`
}

// Run implements the command.
func (c *projectionsResume) Run(ctx context.Context, p *process) error {
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		return projections.Resume(ctx, db, c.Name)
	})
}
