package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// printedDeadLetter is the printed form of a dead letter.
type printedDeadLetter struct {
	Projection string    `json:"projection"`
	Generation int       `json:"generation"`
	Serving    bool      `json:"serving"` // whether readers use the generation
	Position   int64     `json:"position"`
	EventID    uuid.UUID `json:"event_id"`
	Stream     string    `json:"stream"`
	Revision   int64     `json:"revision"`
	Type       string    `json:"type"`
	RecordedAt time.Time `json:"recorded_at"`
	ParkedAt   time.Time `json:"parked_at"`
	Error      string    `json:"error"`
}

// DeadLetters prints the dead letters of a projection, or of all projections if the name is empty.
func DeadLetters(ctx context.Context, o installation.Operator, name string) error {
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		letters, err := projections.DeadLetters(ctx, db, name)
		if err != nil {
			return err
		}
		serving, err := servingGenerations(ctx, db)
		if err != nil {
			return err
		}
		views := make([]printedDeadLetter, len(letters))
		rows := make([]console.Row, len(letters))
		for i, l := range letters {
			serves, isServing := serving[l.Name] == l.Generation, ""
			if serves {
				isServing = "yes"
			}
			views[i] = printedDeadLetter{
				Projection: l.Name, Generation: l.Generation, Serving: serves,
				Position: l.CommitPos, EventID: l.EventID, Stream: l.Stream,
				Revision: l.Revision, Type: l.Type, RecordedAt: l.RecordedAt, ParkedAt: l.ParkedAt,
				Error: l.Error,
			}
			rows[i] = console.Row{
				l.Name, l.Generation, isServing, l.CommitPos, l.Stream, l.Revision, l.Type,
				l.Error,
			}
		}
		if o.JSON {
			return console.JSON(o.Stdout, views)
		}
		return console.Table(
			o.Stdout,
			console.Row{
				"projection", "generation", "serving", "position", "stream", "revision", "type",
				"error",
			},
			rows,
		)
	})
}

// servingGenerations returns, for each projection, the generation that readers use.
func servingGenerations(ctx context.Context, db *readmodel.DB) (map[string]int, error) {
	found, err := status.Generations(ctx, db)
	serving := make(map[string]int, len(found))
	for _, overview := range found {
		if overview.Serving {
			serving[overview.Name] = overview.Generation
		}
	}
	return serving, err
}

// DeadLetterSelection selects dead letters of a projection.
type DeadLetterSelection struct {
	Projection string
	Stream     string // empty for all streams
}

// RetryDeadLetters applies dead letters in the order of the log. In each stream it stops at the
// first dead letter that cannot be applied.
func RetryDeadLetters(
	ctx context.Context, o installation.Operator, which DeadLetterSelection,
) error {
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		n, err := projections.RetryDeadLetters(ctx, db, which.Projection, which.Stream)
		if err != nil && n > 0 {
			return fmt.Errorf("%d events applied, the next one cannot be: %w", n, err)
		}
		if err != nil {
			return err
		}
		if o.JSON {
			return console.JSON(o.Stdout, map[string]int{"applied": n})
		}
		return console.Printf(o.Stdout, "%d events applied\n", n)
	})
}

// DiscardDeadLetters discards the first dead letter of each stream, and applies the later dead
// letters of these streams, as far as they can be applied.
func DiscardDeadLetters(
	ctx context.Context, o installation.Operator, which DeadLetterSelection,
) error {
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		done, err := projections.DiscardDeadLetters(ctx, db, which.Projection, which.Stream)
		if err != nil {
			return err
		}
		if o.JSON {
			return console.JSON(o.Stdout, map[string]int{
				"discarded": done.Discarded, "applied": done.Applied, "left": done.Left,
			})
		}
		return console.Printf(
			o.Stdout, "%d events discarded, %d later ones applied, %d still set aside\n",
			done.Discarded, done.Applied, done.Left,
		)
	})
}

// DiscardedEvents prints the discarded events of a projection, or of all projections if the name is
// empty.
func DiscardedEvents(ctx context.Context, o installation.Operator, name string) error {
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		found, err := projections.DiscardedEvents(ctx, db, name)
		if err != nil {
			return err
		}
		if o.JSON {
			return console.JSON(o.Stdout, found)
		}
		rows := make([]console.Row, len(found))
		for i, e := range found {
			rows[i] = console.Row{e.Projection, e.Stream, e.Revision, e.Type, e.DiscardedAt}
		}
		return console.Table(
			o.Stdout, console.Row{"projection", "stream", "revision", "type", "discarded"}, rows,
		)
	})
}

// RestoreDiscarded undoes the discarding of events. The next rebuild of the projection applies
// these events.
func RestoreDiscarded(
	ctx context.Context, o installation.Operator, which DeadLetterSelection,
) error {
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		n, err := projections.RestoreDiscarded(ctx, db, which.Projection, which.Stream)
		if err != nil {
			return err
		}
		if o.JSON {
			return console.JSON(o.Stdout, map[string]int{"restored": n})
		}
		return console.Printf(
			o.Stdout, "%d events restored: linkledger projections rebuild %s applies them. "+
				"If an event still cannot be applied, the rebuild sets it aside again, "+
				"with all events that follow it. Then keys that were narrowed later "+
				"have their former rights.\n", n, which.Projection,
		)
	})
}
