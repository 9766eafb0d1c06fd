package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// maxDifferences is how many differences of a table are listed.
const maxDifferences = 20

// Difference is a row that differs from a replay of the log. Rows are JSON objects of their
// columns.
type Difference struct {
	Table    string          `json:"table"`
	Key      json.RawMessage `json:"key"`      // the columns of the primary key
	Found    json.RawMessage `json:"found"`    // the row that readers see; nil: missing
	Replayed json.RawMessage `json:"replayed"` // the expected row; nil: none
}

// compare compares the tables of the generation with the tables of the replay.
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

// compareTable compares one table. PostgreSQL joins the rows in both directions, so that the memory
// of this process stays bounded.
//
// The full join on the primary key finds changed, missing and superfluous rows in one pass.
// count(*) OVER () counts all differences although LIMIT cuts the list. Rows are compared as ROW
// values, because IS DISTINCT FROM treats NULL as a value.
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
		FROM (SELECT * FROM ?0.?1 WHERE ?4) AS found
			FULL JOIN (SELECT * FROM ?schema.?1 WHERE ?4) AS replayed USING (?2)
		WHERE ROW (found.*) IS DISTINCT FROM ROW (replayed.*)
		ORDER BY ?2 LIMIT ?3`,
		bun.Ident(readmodel.GenerationSchema(r.projection.Name, r.to.Generation)), name, table.Key,
		maxDifferences, readmodel.NonEmptyRow(table.Name)).Scan(ctx, &found)
	for _, f := range found {
		f.Table, different = table.Name, f.Different
		differences = append(differences, f.Difference)
	}
	return differences, rows, different, err
}
