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

// completionConcurrency is how many tables are completed at a time: one of them, the searched one, takes
// as long as all others.
const completionConcurrency = 2

// Complete makes a generation that was filled in bulk ready for its readers: it fills in what
// follows from the rest, creates the indexes, and tidies up. What is complete already is filled in
// anew. Each table has a transaction of its own, in which confirm has the last word.
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

// Derive fills in what follows from the rest of a projection's tables.
func Derive(ctx context.Context, tx bun.Tx, projection, schema string) error {
	derived, err := derivations(projection)
	if err != nil {
		return err
	}
	return execStatements(ctx, tx, schema, derived)
}

// derivations returns the statements of Derive, each about one table; many a projection needs none.
func derivations(projection string) ([]string, error) {
	statements, err := statementsOf(projection + ".derived")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return statements, err
}

// completionOrder begins with the tables that are derived, in the order of their derivations: the longest
// work comes first.
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

// tableOf returns the table that a statement is about: the first one that it names.
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

// vacuum prepares a table that was filled in bulk for its readers: the planner learns of it,
// indexes can answer alone, and what waits beside the search index gets into it.
func vacuum(ctx context.Context, db *bun.DB, schema, table string) (err error) {
	conn, err := db.Conn(ctx) // one, for its setting: it takes as long as it takes
	if err != nil {
		return fmt.Errorf("vacuum %s.%s: %w", schema, table, err)
	}
	defer func() {
		_, reset := conn.ExecContext(ctx, "RESET statement_timeout")
		err = errors.Join(err, reset, conn.Close())
	}()
	if _, err := conn.ExecContext(ctx, "SET statement_timeout = 0"); err != nil {
		return fmt.Errorf("vacuum %s.%s: %w", schema, table, err)
	}
	if _, err := conn.NewRaw("VACUUM (ANALYZE) ?.?", bun.Ident(schema), bun.Ident(table)).Exec(
		ctx,
	); err != nil {
		return fmt.Errorf("vacuum %s.%s: %w", schema, table, err)
	}
	return nil
}
