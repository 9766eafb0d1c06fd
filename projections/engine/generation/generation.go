package generation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// answerTimeout bounds a statement about one row of the table generations. A connection that was
// lost without being closed gives no answer.
const answerTimeout = 10 * time.Second

var (
	// ErrFenced means that the checkpoint is not where this process expects it, or that another
	// process owns the generation. Nothing was changed.
	ErrFenced = errors.New("checkpoint was moved, or another process owns it")
	// ErrNotPrepared means that the database lacks the tables of a projection: call Prepare.
	ErrNotPrepared = errors.New("projection is not prepared")
	// ErrPaused means that an operator has paused the projection: resume it.
	ErrPaused = errors.New("paused by an operator")
	// ErrOtherShape means that another version of the program made the tables of the serving
	// generation. Start the service of that version, or the service of this version. The service of
	// this version builds a generation with its own tables.
	ErrOtherShape = errors.New("the tables that serve are of another version of the program")
)

// WakeElections makes all processes hold an election once the transaction is committed.
func WakeElections(ctx context.Context, tx bun.Tx, name string) error {
	if _, err := tx.NewRaw("SELECT pg_notify(?, ?)", readmodel.ControlChannel, name).Exec(
		ctx,
	); err != nil {
		return fmt.Errorf("announce the change of %s: %w", name, err)
	}
	return nil
}

// Serving returns the generation that readers see, or ErrNotPrepared.
func Serving(ctx context.Context, db bun.IDB, name string) (readmodel.Generation, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var row readmodel.Generation
	err := db.NewSelect().Model(&row).Where("name = ? AND serving", name).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return row, fmt.Errorf("%s: %w", name, ErrNotPrepared)
	}
	if err != nil {
		return row, fmt.Errorf("generation of %s: %w", name, err)
	}
	return row, nil
}
