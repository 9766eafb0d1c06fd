// Package engine keeps projections up to date.
//
// However many processes run, each generation of a projection has one owner. It is elected by the
// database's clock for the term of a lease, which each batch extends, and the number of its
// election, the epoch, is compared with each checkpoint: what a former owner still has under way is
// refused by the database. The owner also holds a presence lock of its connection, which PostgreSQL
// releases when the owner is killed. The others stand by, are told when the owner stops, and look
// several times a second for owners that are gone.
//
// An elector holds the elections of one process. A leaseholder owns one generation, and runs its
// projector until another process owns it.
package engine
