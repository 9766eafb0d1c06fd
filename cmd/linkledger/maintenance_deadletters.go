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

// listLetters prints the dead letters of a projection, or of all where it has no name.
func listLetters(ctx context.Context, o Operator, name string) error {
	return o.operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		letters, err := projections.DeadLetters(ctx, db, name)
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
		if o.JSON {
			return printJSON(o.Stdout, views)
		}
		return printTable(o.Stdout, table.Row{"projection", "generation", "position", "stream", "revision", "type", "error"}, rows)
	})
}

// letterSelection is the dead letters of a projection.
type letterSelection struct {
	Projection string
	Stream     string // empty: of all streams
}

// retryLetters applies dead letters after all, in the order of the log, all or none.
func retryLetters(ctx context.Context, o Operator, which letterSelection) error {
	return which.take(ctx, o, "applied", projections.RetryDeadLetters)
}

// discardLetters removes dead letters.
func discardLetters(ctx context.Context, o Operator, which letterSelection) error {
	return which.take(ctx, o, "discarded", projections.DiscardDeadLetters)
}

func (s letterSelection) take(ctx context.Context, o Operator, done string, take func(context.Context, *readmodel.DB, string, string) (int, error)) error {
	return o.operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		n, err := take(ctx, db, s.Projection, s.Stream)
		if err != nil {
			return err
		}
		if o.JSON {
			return printJSON(o.Stdout, map[string]int{done: n})
		}
		_, err = fmt.Fprintf(o.Stdout, "%d events %s\n", n, done)
		return err
	})
}
