package controlschema

// This file checks what a database and its server must have before the schemas are made.

import (
	"context"
	"errors"
	"fmt"

	"linkledger/projections/connection"
	"linkledger/waiting"
)

// ErrUnfit means that the database or its server lacks what the schemas need. An operator has to
// change it.
var ErrUnfit = errors.New("the database cannot be used")

// requirements is what CheckRequirements reads of a database.
type requirements struct {
	Database   string `bun:"database"`
	Encoding   string `bun:"encoding"`
	Standby    bool   `bun:"standby"`
	ReadOnly   bool   `bun:"read_only"`
	SearchPath string `bun:"search_path"`
	Schema     string `bun:"schema"`     // the first one of the search path that exists, or ""
	Trigrams   bool   `bun:"trigrams"`   // the server has the extension pg_trgm
	TrigramsIn string `bun:"trigram_in"` // the schema of the extension, or ""
	Found      bool   `bun:"found"`      // TrigramsIn is empty or in the search path
}

// CheckRequirements returns connection.ErrReadOnly or ErrUnfit, with what to change, if the schemas
// cannot be made in the database.
func (s *Schema) CheckRequirements(ctx context.Context) error {
	return waiting.During(ctx, "database", nil, s.checkRequirements)
}

func (s *Schema) checkRequirements(ctx context.Context) error {
	var has requirements
	if err := s.db.NewRaw(`
		SELECT current_database() AS database, current_setting('server_encoding') AS encoding,
			pg_is_in_recovery() AS standby,
			current_setting('transaction_read_only')::bool AS read_only,
			current_setting('search_path') AS search_path, coalesce(current_schema(), '') AS schema,
			EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS trigrams,
			coalesce(e.extnamespace::regnamespace::text, '') AS trigram_in,
			coalesce(n.nspname = ANY (current_schemas(true)), true) AS found
		FROM (SELECT) AS one LEFT JOIN pg_extension AS e ON e.extname = 'pg_trgm'
			LEFT JOIN pg_namespace AS n ON n.oid = e.extnamespace`).Scan(ctx, &has); err != nil {
		return fmt.Errorf("ask for what the database has: %w", err)
	}
	return has.check()
}

func (r requirements) check() error {
	switch {
	case r.Encoding != "UTF8":
		return fmt.Errorf("%w: its encoding is %s and must be UTF8: make another one with "+
			"CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0 LOCALE 'C'",
			ErrUnfit, r.Encoding)
	case r.Standby:
		return fmt.Errorf(
			"%w: the server is a standby that has not been promoted", connection.ErrReadOnly,
		)
	case r.ReadOnly:
		return fmt.Errorf(
			"%w: default_transaction_read_only is on for it, for the user or for the server",
			connection.ErrReadOnly,
		)
	case r.Schema == "":
		return fmt.Errorf("%w: its search_path (%s) names no schema that exists and that the user "+
			"may use, and the extension pg_trgm needs one: CREATE SCHEMA public, or "+
			"ALTER DATABASE %q SET search_path = …", ErrUnfit, r.SearchPath, r.Database)
	case !r.Trigrams:
		return fmt.Errorf("%w: the server lacks the extension pg_trgm: install PostgreSQL's "+
			"contrib modules on it (postgresql-contrib; Debian has them in the server's package)",
			ErrUnfit)
	case !r.Found:
		return fmt.Errorf("%w: the extension pg_trgm is in the schema %s, which its search_path "+
			"(%s) does not name: add the schema with ALTER DATABASE %q SET search_path = …",
			ErrUnfit, r.TrigramsIn, r.SearchPath, r.Database)
	}
	return nil
}
