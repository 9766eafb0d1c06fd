package readmodel

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// assumedPages is the size that the planner assumes for a table without statistics.
const assumedPages = 10

// earlyStatistics is the statistics target for a table that grows. With it, ANALYZE samples 3000
// rows. Autovacuum samples ten times as many, which took more than a tenth of PostgreSQL's time
// while links were created on a new database.
const earlyStatistics = 10

// Analyze updates the planner's statistics of the tables of a generation that are more than twice
// as large as the planner assumes. Autovacuum does that too, but possibly minutes late for new
// tables that are filled quickly. Readers and writers are not blocked. A table that is being
// analyzed or vacuumed is left out.
func Analyze(ctx context.Context, db bun.IDB, projection string, generation int) error {
	schema := GenerationSchema(projection, generation)
	var grown []string
	if err := db.NewRaw(`
		SELECT relname FROM pg_class
		WHERE relnamespace = to_regnamespace(?) AND relkind = 'r' AND pg_relation_size(oid) >
			2 * current_setting('block_size')::bigint * greatest(relpages, ?)`,
		schema, assumedPages).
		Scan(ctx, &grown); err != nil {
		return fmt.Errorf("sizes of the tables of %s: %w", schema, err)
	}
	for _, table := range grown {
		err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			const statements = "SET LOCAL default_statistics_target = ?; " +
				"ANALYZE (SKIP_LOCKED) ?.?"
			_, err := tx.NewRaw(statements, earlyStatistics, bun.Ident(schema), bun.Ident(table)).
				Exec(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("analyze %s.%s: %w", schema, table, err)
		}
	}
	return nil
}
