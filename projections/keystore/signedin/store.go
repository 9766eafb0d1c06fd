package signedin

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The tables that change durably.
const (
	sessions    = "sessions"
	signInLinks = "sign_in_links"
	signOuts    = "issuer_sign_outs"
)

// Schema is the schema that has the tables of a Store.
type Schema struct {
	Pool *pgxpool.Pool
	// Durably runs do in a transaction that changes tables. When Durably returns, the change is on
	// the disk, and in the copy of the schema if there is one.
	Durably func(ctx context.Context, tables []string, do func(pgx.Tx) error) error
	// Explain replaces the error of PostgreSQL about a missing schema with a plain one.
	Explain func(error) error
}

// Store stores who is signed in.
type Store struct{ schema Schema }

// New returns the store of a schema.
func New(schema Schema) *Store { return &Store{schema} }

// execDurably executes a statement that changes a table durably.
func (s *Store) execDurably(
	ctx context.Context, table, statement string, args ...any,
) error {
	return s.schema.Durably(ctx, []string{table}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}
