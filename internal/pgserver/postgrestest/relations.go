package postgrestest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Relations returns the tables and views of the schemas linkledger and linkledger_durable by name.
// The value describes the relation: a table with its primary key, or a view with its tables. Two
// databases with the same value have the same relation under a name.
func Relations(ctx context.Context, conn *pgx.Conn) (map[string]string, error) {
	// The query removes the number of a generation, which says nothing about what a view shows.
	rows, err := conn.Query(ctx, `
		SELECT n.nspname || '.' || c.relname, CASE c.relkind
			WHEN 'r' THEN 'table with the key ' || coalesce((
				SELECT string_agg(a.attname, ', ' ORDER BY a.attnum)
				FROM pg_index AS i JOIN pg_attribute AS a
					ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
				WHERE i.indrelid = c.oid AND i.indisprimary), 'none')
			WHEN 'v' THEN 'view of ' || coalesce((
				SELECT string_agg(DISTINCT
					regexp_replace(s.nspname, '_g[0-9]+$', '') || '.' || t.relname, ', ')
				FROM pg_rewrite AS r JOIN pg_depend AS d
						ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
					JOIN pg_class AS t
						ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
					JOIN pg_namespace AS s ON s.oid = t.relnamespace
				WHERE r.ev_class = c.oid AND t.oid <> c.oid), 'nothing')
			END
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'v')
			AND n.nspname IN ('linkledger', 'linkledger_durable', 'linkledger_keys')`)
	if err != nil {
		return nil, fmt.Errorf("relations: %w", err)
	}
	relations := make(map[string]string)
	var name, what string
	_, err = pgx.ForEachRow(rows, []any{&name, &what}, func() error {
		relations[name] = what
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("relations: %w", err)
	}
	return relations, nil
}
