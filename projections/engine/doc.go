// Package engine keeps projections up to date. It MUST NOT import a projection.
//
// Several processes may run. Each generation of a projection has one owner, which is elected by the
// clock of the database. The owner holds a lease, and each batch extends it. Each election
// increments an epoch, and each batch compares the epoch with that of the checkpoint, so the
// database refuses the batches of a former owner. The owner also holds a presence lock on a
// connection. PostgreSQL releases it when the owner is killed. The other processes are notified
// when the owner stops, and look for generations without an owner several times a second.
//
// An elector holds the elections of one process. A leaseholder owns one generation and runs its
// projector until another process owns it.
package engine
