// Package engine keeps projections up to date. It MUST NOT import a projection.
//
// Several processes may run. Each generation of a projection has one owner, which is elected by the
// clock of the database. The owner holds a lease, and each batch extends it. The
// epoch is a number that grows with each election, pause, and retry or discarding of dead letters.
// The database refuses writes under an older epoch, such as the batches of a former owner. The
// owner also holds a presence lock on a connection. PostgreSQL releases it when the owner is
// killed. The other processes are notified when the owner stops, and look for generations without
// an owner several times a second.
//
// An elector holds the elections of one process. A leaseholder owns one generation and runs its
// projector until another process owns it.
package engine
