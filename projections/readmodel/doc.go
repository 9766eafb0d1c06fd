// Package readmodel is what the writers and the readers of the PostgreSQL read models share: how
// the database is opened, its tables as SQL, and its rows as bun types. It holds no behaviour
// beyond that.
//
// # Schemas
//
// The schema linkledger holds what outlives every rebuild: the table generations with checkpoint,
// lease and epoch of each generation, the tables secrets and account_keys, and one view per table
// of each projection. What is in these two tables can't be made from the log. A generation of a
// projection has a schema of its own, links_g1 for the first one of links. Projectors write to the
// tables of their generation; readers see the views only, which point to the generation that
// serves. A rebuild fills the next generation beside the live one and takes over by replacing the
// views in one transaction.
//
// # Locks
//
// Whoever changes schemas does so within DB.Locked, an advisory lock of PostgreSQL that ends with
// its connection, so that several processes may start at once and a crash leaves nothing locked.
package readmodel
