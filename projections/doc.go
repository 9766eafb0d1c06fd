// Package projections builds the read models from the log.
//
// A projection follows the events of its filter, or the whole log, through one subscription, in batches. A batch is one
// transaction of two round trips: the checkpoint moves by compare-and-swap, the events are folded in memory to one row per
// key, each table takes them in one statement, and a notification goes out with the commit. So an event counts exactly
// once whatever crashes.
//
// However many processes run, each generation of a projection has one owner. It is elected by the database's clock for
// the term of a lease, which each batch extends, and the number of its election, the epoch, is compared with each
// checkpoint: what a former owner still has under way is refused by the database. The owner also holds a presence lock
// of its connection, which PostgreSQL releases when the owner is killed. The others stand by, are told when the owner stops,
// and look several times a second for owners that are gone.
//
// Another shape of the tables is another generation, as is a rebuild. It is filled beside the one that serves, in bulk:
// batches are folded into one transaction while PostgreSQL takes in the one before, rows touched of late are known, and
// there are no indexes. When it has caught up it gets these and what follows from the other tables, and takes over in one
// transaction as soon as it has everything that readers have seen, and gives way to readers that it would have to wait for
// too long. The one before is kept up to date for a rollback until it is pruned.
//
// Nothing is skipped silently. An event that can't be decoded or applied, or that contradicts what came before it, is
// found by bisection. It stops its projection right before it, or is set aside with what follows in its stream, by Policy;
// the Status says why. An outage of the database or of the event store is retried for ever.
package projections
