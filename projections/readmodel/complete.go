package readmodel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/uptrace/bun"
	"golang.org/x/sync/errgroup"
)

// completionConcurrency is how many tables are completed at the same time. The table with the
// search index takes as long as all other tables together, so a larger number would not help.
const completionConcurrency = 2

// Complete prepares a generation that was filled in bulk for its readers: it fills the derived
// tables, creates the indexes, and vacuums. If it is called again, it corrects the derived tables.
//
// Each table has its own transaction. confirm is called last in each transaction, and its error
// rolls the transaction back. The engine passes generation.Checkpoint.Confirm.
func Complete(
	ctx context.Context, db *bun.DB, projection string, generation int,
	confirm func(context.Context, bun.Tx) error,
) error {
	schema := GenerationSchema(projection, generation)
	tables, err := tablesOf(ctx, db, schema)
	if err != nil {
		return err
	}
	derived, err := derivations(projection)
	if err != nil {
		return err
	}
	indexes, err := statementsOf(projection)
	if err != nil {
		return err
	}
	indexes = slices.DeleteFunc(
		indexes, func(statement string) bool { return !sqlIndex.MatchString(statement) },
	)
	completing, ctx := errgroup.WithContext(ctx)
	completing.SetLimit(completionConcurrency)
	for _, table := range completionOrder(tables, derived) {
		completing.Go(func() error {
			work := append(statementsAbout(table, derived), statementsAbout(table, indexes)...)
			if err := completeTable(ctx, db, schema, work, confirm); err != nil {
				return fmt.Errorf("complete %s.%s: %w", schema, table, err)
			}
			return vacuum(ctx, db, schema, table)
		})
	}
	return completing.Wait()
}

// Derive fills the tables of a projection that are derived from its other tables.
func Derive(ctx context.Context, tx bun.Tx, projection, schema string) error {
	derived, err := derivations(projection)
	if err != nil {
		return err
	}
	return execStatements(ctx, tx, schema, derived)
}

// derivations returns the statements of Derive, each for one table. A projection may have none.
func derivations(projection string) ([]string, error) {
	statements, err := statementsOf(projection + ".derived")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return statements, err
}

// completionOrder returns the order in which the tables are completed. The derived tables are
// first, in the order of their derivations, because they take longest.
func completionOrder(tables, derived []string) []string {
	var order []string
	for _, statement := range derived {
		if table := tableOf(statement); !slices.Contains(order, table) {
			order = append(order, table)
		}
	}
	for _, table := range tables {
		if !slices.Contains(order, table) {
			order = append(order, table)
		}
	}
	return order
}

func statementsAbout(table string, statements []string) []string {
	return slices.DeleteFunc(
		slices.Clone(statements),
		func(statement string) bool { return tableOf(statement) != table },
	)
}

// tableOf returns the table of a statement: the first one that it names.
func tableOf(statement string) string {
	found := sqlTable.FindStringSubmatch(statement)
	if found == nil {
		return ""
	}
	return found[1]
}

func completeTable(
	ctx context.Context, db *bun.DB, schema string, statements []string,
	confirm func(context.Context, bun.Tx) error,
) error {
	if len(statements) == 0 {
		return nil
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw(
			"SET LOCAL statement_timeout = 0; SET LOCAL maintenance_work_mem = '128MB'",
		).Exec(ctx); err != nil {
			return err
		}
		for i, statement := range statements {
			statements[i] = sqlIndex.ReplaceAllString(statement, "CREATE ${1}INDEX IF NOT EXISTS ")
		}
		if err := execStatements(ctx, tx, schema, statements); err != nil {
			return err
		}
		return confirm(ctx, tx)
	})
}

// vacuum prepares a table that was filled in bulk for its readers: it updates the statistics,
// allows index-only scans, and merges the pending list of the search index.
func vacuum(ctx context.Context, db *bun.DB, schema, table string) (err error) {
	conn, err := db.Conn(ctx) // one connection, because its statement_timeout is switched off
	if err != nil {
		return fmt.Errorf("vacuum %s.%s: %w", schema, table, err)
	}
	var timeout string
	setTimeout := func(ctx context.Context, value string) error {
		_, err := conn.ExecContext(ctx, "SELECT set_config('statement_timeout', ?, false)", value)
		return err
	}
	defer func() {
		err = errors.Join(err, setTimeout(ctx, timeout), conn.Close())
	}()
	if err := conn.QueryRowContext(ctx, "SHOW statement_timeout").Scan(&timeout); err != nil {
		return fmt.Errorf("vacuum %s.%s: %w", schema, table, err)
	}
	if err := setTimeout(ctx, "0"); err != nil {
		return fmt.Errorf("vacuum %s.%s: %w", schema, table, err)
	}
	if _, err := conn.NewRaw("VACUUM (ANALYZE) ?.?", bun.Ident(schema), bun.Ident(table)).Exec(
		ctx,
	); err != nil {
		return fmt.Errorf("vacuum %s.%s: %w", schema, table, err)
	}
	return nil
}
