package auditor

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/restoring"
	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/queries"
)

// undoPortion is how many links of a batch are undone at a time.
const undoPortion = 500

// Restore undoes the deletion of a link. If revision is not nil, Restore instead returns the link
// to its state right after the event with that revision of its stream. address is the address of
// the service, to which no link may lead. If address is empty, Restore uses the address of a
// running dev.
func Restore(
	ctx context.Context, o installation.Operator, hash string, revision *int64, address string,
) error {
	return o.WithLog(ctx, func(ctx context.Context, store *eventstore.Store) error {
		ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
		defer cancel()
		handler, err := o.Handler(store, address)
		if err != nil {
			return err
		}
		outcome := handler.RestoreURL(
			ctx, installation.NewRequest(), restoring.RestoreURL{Hash: hash, Version: revision},
		)
		if outcome.Err != nil {
			return outcome.Err
		}
		o.AwaitProjection(ctx, projections.Links, outcome.Position)
		u := outcome.URL
		view := printedRestore{
			u.ID, u.Account, u.Hash, u.LongURL, outcome.Labels, outcome.Position.Commit,
		}
		if o.JSON {
			return console.JSON(o.Stdout, view)
		}
		return console.Table(o.Stdout, console.Row{
			"hash", "long_url", "position", "link", "account",
		}, []console.Row{
			{view.Hash, valueText(view.LongURL), view.Position, view.ID, view.Account},
		})
	})
}

// printedRestore is the printed form of a restored link.
type printedRestore struct {
	ID       string   `json:"id"`
	Account  string   `json:"account"`
	Hash     string   `json:"hash"`
	LongURL  string   `json:"long_url"`
	Tags     []string `json:"tags"`
	Position uint64   `json:"position"` // position in the log
}

// Undo undoes all changes of one API call, except for links that were changed since. The address
// has the same meaning as in Restore.
func Undo(
	ctx context.Context, o installation.Operator, batch uuid.UUID, address string,
) error {
	if o.Database == "" {
		if err := o.Locate(); err != nil {
			return err
		}
	}
	return o.WithLog(ctx, func(ctx context.Context, store *eventstore.Store) error {
		handler, err := o.Handler(store, address)
		if err != nil {
			return err
		}
		db, err := o.OpenReadModels(ctx, 1)
		if err != nil {
			return err
		}
		view, last, err := undoBatch(ctx, handler, queries.New(db), batch)
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
		if view.Undone+len(view.Refused) == 0 {
			return usage.Errorf("no link was changed by a batch with the id %s", batch)
		}
		ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
		defer cancel()
		o.AwaitProjection(ctx, projections.Links, last)
		return printUndone(o, view)
	})
}

// printedUndo is the printed form of an undone batch.
type printedUndo struct {
	Batch string `json:"batch"`
	// By is the batch of the undo itself, with which the undo can be undone. It is empty if nothing
	// changed.
	By      string           `json:"undone_by,omitempty"`
	Undone  int              `json:"undone"`
	Refused []printedRefusal `json:"refused"`
}

type printedRefusal struct {
	ID      string   `json:"id"`
	Hash    string   `json:"hash"`
	Details string   `json:"details"`
	Fields  []string `json:"fields,omitempty"` // the fields that prevent the undo
}

// undoBatch undoes a batch of any account. It returns the position in the log of the last change
// that it made.
func undoBatch(
	ctx context.Context, handler *commands.Handler, q *queries.DB, batch uuid.UUID,
) (printedUndo, eventstore.Position, error) {
	request := installation.NewRequest()
	request.Undoes.Batch = batch.String()
	view := printedUndo{Batch: batch.String(), Refused: []printedRefusal{}}
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
		for _, outcome := range handler.Undo(ctx, request, texts) {
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
				view.Refused = append(view.Refused, printedRefusal{
					outcome.URL.ID, outcome.URL.Hash, refused.Details, refused.Fields,
				})
			default:
				return view, last, fmt.Errorf(
					"undo %s (%d links are done): %w", batch, view.Undone, outcome.Err,
				)
			}
		}
	}
}

// printUndone prints an undone batch. It fails if the undo refused links.
func printUndone(o installation.Operator, view printedUndo) error {
	var err error
	if o.JSON {
		err = console.JSON(o.Stdout, view)
	} else {
		rows := make([]console.Row, len(view.Refused))
		for i, r := range view.Refused {
			rows[i] = console.Row{r.Hash, r.Details, r.ID}
		}
		if len(rows) > 0 {
			err = console.Table(o.Stdout, console.Row{"hash", "left as it is", "link"}, rows)
		}
		by := "and were so already"
		if view.By != "" {
			by = "by batch " + view.By
		}
		if err == nil && view.Undone > 0 {
			err = console.Printf(o.Stdout, "%d links are as they were, %s\n", view.Undone, by)
		}
	}
	if err == nil && len(view.Refused) > 0 {
		err = fmt.Errorf(
			"%d of %d links are unchanged", len(view.Refused),
			view.Undone+len(view.Refused),
		)
	}
	return err
}
