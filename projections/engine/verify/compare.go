package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// mostDifferences bounds the differences of a table that are told one by one.
const mostDifferences = 20

// Difference is a row that is not as a replay of the log has it. Rows are JSON objects of their
// columns.
type Difference struct {
	Table    string          `json:"table"`
	Key      json.RawMessage `json:"key"`      // the columns of the primary key
	Found    json.RawMessage `json:"found"`    // the row that readers see; nil: it is missing
	Replayed json.RawMessage `json:"replayed"` // the row that there should be; nil: none
}

// compare holds the tables of the generation against those of the replay.
func (r *replay) compare(ctx context.Context, tx bun.Tx) (Result, error) {
	found := Result{
		Name: r.projection.Name, Generation: r.to.Generation, Position: r.to.Position,
		Events: r.events, Differences: []Difference{},
	}
	tables, err := readmodel.ScratchTables(ctx, tx)
	if err != nil {
		return found, err
	}
	for _, table := range tables {
		differences, rows, different, err := r.compareTable(ctx, tx, table)
		if err != nil {
			return found, fmt.Errorf("compare %s: %w", table.Name, err)
		}
		found.Differences = append(found.Differences, differences...)
		found.Rows += rows
		found.Different += different
	}
	r.progress(r.at, true)
	return found, nil
}

// compareTable leaves the rows in PostgreSQL, which joins them in both directions with bounded
// memory.
func (r *replay) compareTable(
	ctx context.Context, tx bun.Tx, table readmodel.Table,
) (differences []Difference, rows, different int64, err error) {
	if table.Key == "" {
		return nil, 0, 0, errors.New("the table has no primary key")
	}
	name := bun.Ident(table.Name)
	if _, err := tx.NewRaw("ANALYZE ?schema.?", name).Exec(ctx); err != nil {
		return nil, 0, 0, err
	}
	if err := tx.NewRaw("SELECT count(*) FROM ?schema.?", name).Scan(ctx, &rows); err != nil {
		return nil, 0, 0, err
	}
	var found []struct {
		Difference `bun:",extend"`

		Different int64
	}
	err = tx.NewRaw(`
		SELECT (SELECT to_jsonb(k) FROM (SELECT ?2) AS k) AS key, count(*) OVER () AS different,
			CASE WHEN found IS NULL THEN NULL ELSE to_jsonb(found) END AS found,
			CASE WHEN replayed IS NULL THEN NULL ELSE to_jsonb(replayed) END AS replayed
		FROM (SELECT * FROM ?0.?1 WHERE ?4) AS found FULL JOIN (SELECT * FROM ?schema.?1 WHERE ?4) AS replayed USING (?2)
		WHERE ROW (found.*) IS DISTINCT FROM ROW (replayed.*)
		ORDER BY ?2 LIMIT ?3`,
		bun.Ident(readmodel.GenerationSchema(r.projection.Name, r.to.Generation)), name, table.Key,
		mostDifferences,
		readmodel.Meaningful(table.Name)).Scan(ctx, &found)
	for _, f := range found {
		f.Table, different = table.Name, f.Different
		differences = append(differences, f.Difference)
	}
	return differences, rows, different, err
}
