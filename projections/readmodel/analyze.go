package readmodel

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// assumedPages is how large the planner takes a table to be that nobody has analyzed.
const assumedPages = 10

// earlyStatistics is how much the planner learns of a table that grows: of 3000 rows. Autovacuum
// looks at ten times as many, which took more than a tenth of what PostgreSQL did while links were
// created on a new database.
const earlyStatistics = 10

// Analyze has the planner learn of the tables of a generation that are more than twice as large as
// it knows. Autovacuum does that too, but for tables that are new and were filled at once it may
// come minutes late. Readers and writers go on meanwhile; a table that is being analyzed or
// vacuumed is left out.
func Analyze(ctx context.Context, db bun.IDB, projection string, generation int) error {
	schema := GenerationSchema(projection, generation)
	var grown []string
	if err := db.NewRaw(`SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(?) AND relkind = 'r'
			AND pg_relation_size(oid) > 2 * current_setting('block_size')::bigint * greatest(relpages, ?)`, schema, assumedPages).
		Scan(ctx, &grown); err != nil {
		return fmt.Errorf("sizes of the tables of %s: %w", schema, err)
	}
	for _, table := range grown {
		err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.NewRaw("SET LOCAL default_statistics_target = ?; ANALYZE (SKIP_LOCKED) ?.?",
				earlyStatistics, bun.Ident(schema), bun.Ident(table)).Exec(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("analyze %s.%s: %w", schema, table, err)
		}
	}
	return nil
}
