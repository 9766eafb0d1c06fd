// Package readmodel contains what the writers and the readers of the PostgreSQL read models share:
// how the database is opened, its tables as SQL, its rows as bun types, and the stored keys. It
// MUST NOT contain projections or queries.
//
// # Schemas
//
// The schema linkledger outlives every rebuild. It contains the table generations with the
// checkpoint, lease and epoch of each generation, the tables secrets and account_keys, and one view
// for each table of each projection. The contents of secrets and account_keys cannot be rebuilt
// from the log.
//
// Each generation of a projection has its own schema, such as links_g1 for the first one of links.
// Projectors write to the tables of their generation. Readers use only the views, which point to
// the generation that serves. A rebuild fills the next generation beside the live one and takes
// over by replacing the views in one transaction.
//
// # Locks
//
// Schemas MUST only be changed within DB.Locked. It takes an advisory lock of PostgreSQL that ends
// with its connection, so that several processes may start at the same time, and a crash leaves no
// lock behind.
package readmodel
