// Package readmodel contains what the writers and the readers of the PostgreSQL read models share:
// how the database is opened, its tables as SQL, and its rows as bun types. It MUST NOT contain
// projections or queries.
//
// # Schemas
//
// The schema linkledger outlives every rebuild. It contains the table generations with the
// checkpoint, lease and epoch of each generation, and one view for each table of each projection.
//
// Each generation of a projection has its own schema, such as links_g1 for the first one of links.
// Projectors write to the tables of their generation. Readers use only the views, which point to
// the generation that serves. A rebuild fills the next generation beside the live one and takes
// over by replacing the views in one transaction.
//
// If the schema linkledger is missing, all generations are leftovers, which Prepare drops. The
// schema linkledger_durable belongs to the package keystore.
//
// # Locks
//
// Schemas MUST only be changed within DB.Locked, so that several processes may start at the same
// time. Locked takes an advisory lock of PostgreSQL that belongs to a transaction. So a crash
// leaves no lock behind, even if a pooler is used.
package readmodel
