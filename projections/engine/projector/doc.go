// Package projector brings the batches of one subscription into the tables of one generation.
//
// A batch is one transaction of two round trips: the checkpoint moves by compare-and-swap, the
// events are folded in memory to one row per key, each table takes them in one statement, and a
// notification goes out with the commit. So an event counts exactly once whatever crashes.
//
// A generation that nobody reads yet is filled in bulk: batches are folded into one transaction
// while PostgreSQL takes in the one before, rows touched of late are known, and there are no
// indexes. When it has caught up it gets these and what follows from the other tables, and takes
// over.
//
// Nothing is skipped silently. An event that can't be decoded or applied, or that contradicts what
// came before it, is found by bisection. It stops its projection right before it, or is set aside
// with what follows in its stream, by Policy; the status says why. An outage of the database or of
// the event store is retried for ever.
package projector
