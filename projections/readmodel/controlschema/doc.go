// Package controlschema keeps the schema linkledger, which has the tables that all processes share
// to update the read models: its migrations, the lock under which schemas change, what a database
// must have for it, the log that the read models are built from, and the presence of processes.
package controlschema

import (
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
)

// Schema is the schema linkledger of a database.
type Schema struct {
	// Program is the version of the program, which Migrate notes in the database and in errors. It
	// MUST be set before Migrate is called.
	Program string

	db         *bun.DB
	pool       *pgxpool.Pool
	migrations fs.FS
}

// New returns the schema of a database. migrations has the folder of that name, with a file for
// each migration. pool is the one that db uses.
func New(db *bun.DB, pool *pgxpool.Pool, migrations fs.FS) *Schema {
	return &Schema{db: db, pool: pool, migrations: migrations}
}
