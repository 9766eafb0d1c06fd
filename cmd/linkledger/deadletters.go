package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

type projectionsDeadLetters struct {
	List    deadLettersList    `cmd:"" default:"withargs" help:"List the events that were set aside."`
	Retry   deadLettersRetry   `cmd:"" help:"Apply these events in the order of the log, all or none."`
	Discard deadLettersDiscard `cmd:"" help:"Delete these events from the list without applying them."`
}

// letterView is a dead letter as it is printed.
type letterView struct {
	Projection string    `json:"projection"`
	Generation int       `json:"generation"`
	Position   int64     `json:"position"`
	EventID    uuid.UUID `json:"event_id"`
	Stream     string    `json:"stream"`
	Revision   int64     `json:"revision"`
	Type       string    `json:"type"`
	RecordedAt time.Time `json:"recorded_at"`
	ParkedAt   time.Time `json:"parked_at"`
	Error      string    `json:"error"`
}

type deadLettersList struct {
	target
	Name string `arg:"" optional:"" help:"Name of the projection; all by default."`
}

// Run implements the command.
func (c *deadLettersList) Run(ctx context.Context, p *process) error {
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		letters, err := projections.DeadLetters(ctx, db, c.Name)
		if err != nil {
			return err
		}
		views := make([]letterView, len(letters))
		rows := make([]table.Row, len(letters))
		for i, l := range letters {
			views[i] = letterView{
				Projection: l.Name, Generation: l.Generation, Position: l.CommitPos, EventID: l.EventID, Stream: l.Stream,
				Revision: l.Revision, Type: l.Type, RecordedAt: l.RecordedAt, ParkedAt: l.ParkedAt, Error: l.Error,
			}
			rows[i] = table.Row{l.Name, l.Generation, l.CommitPos, l.Stream, l.Revision, l.Type, l.Error}
		}
		if c.JSON {
			return printJSON(p.stdout, views)
		}
		return printTable(p.stdout, table.Row{"projection", "generation", "position", "stream", "revision", "type", "error"}, rows)
	})
}

// letterSelection names dead letters.
type letterSelection struct {
	target
	Name   string `arg:"" help:"Name of the projection."`
	Stream string `help:"Only the events of this stream." placeholder:"STREAM"`
}

func (c *letterSelection) take(ctx context.Context, p *process, done string, take func(context.Context, *readmodel.DB, string, string) (int, error)) error {
	return c.operate(ctx, p, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		n, err := take(ctx, db, c.Name, c.Stream)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(p.stdout, map[string]int{done: n})
		}
		_, err = fmt.Fprintf(p.stdout, "%d events %s\n", n, done)
		return err
	})
}

type deadLettersRetry struct {
	letterSelection
}

// Run implements the command.
func (c *deadLettersRetry) Run(ctx context.Context, p *process) error {
	return c.take(ctx, p, "applied", projections.RetryDeadLetters)
}

type deadLettersDiscard struct {
	letterSelection
}

// Run implements the command.
func (c *deadLettersDiscard) Run(ctx context.Context, p *process) error {
	return c.take(ctx, p, "discarded", projections.DiscardDeadLetters)
}
