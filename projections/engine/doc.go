// Package engine keeps projections up to date. It MUST NOT import a projection.
//
// Several processes may run. Each generation of a projection has one owner, the process that was
// elected for it. The owner holds a lease, and each batch extends the lease. The clock of the
// database decides when a lease has run out. The epoch of a generation is a number that grows with
// each election, pause, and retry or discarding of dead letters. The database refuses writes under
// an older epoch, such as the batches of a former owner.
//
// Each process also holds a presence lock on a connection of its own. PostgreSQL releases the lock
// when the process is killed. The other processes are notified when an owner stops, and look for
// generations without an owner several times a second.
//
// An elector holds the elections of one process. A leaseholder owns one generation and runs its
// projector until another process owns the generation.
package engine
