package queriestest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
)

// LoadLinks creates an account with many links. Half of them are visited. Each link has one of a
// hundred tags and one of four others.
func LoadLinks(t testing.TB, db *readmodel.DB, account uuid.UUID, links int) {
	t.Helper()
	load := []string{
		"SET LOCAL statement_timeout = 0",
		`INSERT INTO linkledger.tags
			SELECT md5('tag' || n)::uuid, ?account, 'tag' || n, now(), n
			FROM generate_series(0, 103) n`,
		`INSERT INTO ?schema.links
			SELECT md5('link' || n)::uuid, ?account, n, 'h' || left(md5(n::text || 'h'), 20),
				'https://www.example.com/articles/' || md5(n::text) || '/' || n,
				'note ' || n % 1000, n % 7 = 0, false, n % 100 = 0, n % 10 = 0, NULL, 0,
				ARRAY[md5('tag' || n % 100)::uuid, md5('tag' || 100 + n % 4)::uuid],
				timestamptz '2026-01-01Z' + n * interval '10 s',
				timestamptz '2026-01-01Z' + (n::bigint * 7919 % ?links) * interval '10 s', n, 0
			FROM generate_series(0, ?links - 1) n`,
		`INSERT INTO ?schema.link_stats
			SELECT md5('link' || n)::uuid, ?account, n,
				CASE WHEN n % 2 = 1 THEN n::bigint * 7907 % 10007 ELSE 0 END,
				n % 2, NULL, n % 2 = 1
			FROM generate_series(0, ?links - 1) n`,
	}
	FillGeneration(t, db, "links", load, account, links)
}

// FillGeneration creates a serving generation of a projection from statements that insert the links
// of an account.
func FillGeneration(
	t testing.TB, db *readmodel.DB, projection string, load []string, account uuid.UUID, links int,
) {
	t.Helper()
	const generation = 2
	values := struct {
		Schema  bun.Ident
		Account uuid.UUID
		Links   int
	}{bun.Ident(readmodel.GenerationSchema(projection, generation)), account, links}
	err := db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		if err := readmodel.CreateBareTables(ctx, tx, projection, generation); err != nil {
			return err
		}
		for _, statement := range load {
			if _, err := tx.NewRaw(statement, values).Exec(ctx); err != nil {
				return err
			}
		}
		return readmodel.Serve(ctx, tx, projection, 1, generation)
	})
	nothing := func(context.Context, bun.Tx) error { return nil }
	for range 2 { // the first may find rows that are too recent
		err = errors.Join(
			err, readmodel.Complete(t.Context(), db.DB, projection, generation, nothing),
		)
	}
	if err != nil {
		t.Fatal(err)
	}
}
