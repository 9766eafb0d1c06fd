// Package controlschema keeps the schema linkledger, which has the tables that all processes share
// to update the read models. The package has the migrations of the schema, the lock under which
// schemas change, what the schema needs from a database, the id of the log that the read models are
// built from, and the presence of processes.
package controlschema

import (
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
)

// Schema is the schema linkledger of a database.
type Schema struct {
	// Program is the version of the program. Migrate stores it with each migration, and errors name
	// it. It MUST be set before Migrate is called.
	Program string

	db         *bun.DB
	pool       *pgxpool.Pool
	migrations fs.FS
}

// New returns the schema of a database. migrations has a folder of the same name, with a file for
// each migration. pool is the one that db uses.
func New(db *bun.DB, pool *pgxpool.Pool, migrations fs.FS) *Schema {
	return &Schema{db: db, pool: pool, migrations: migrations}
}
