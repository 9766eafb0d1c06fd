// Package projector applies the batches of one subscription to the tables of one generation. It
// MUST NOT decide who owns the generation.
//
// A batch is one transaction of two round trips. The checkpoint moves by compare-and-swap, the
// events are folded in memory to one row per key, each table is written by one statement, and a
// notification is sent with the commit. So each event counts exactly once, even after a crash.
//
// A generation that no reader sees yet is filled in bulk. Batches are folded into one transaction
// while PostgreSQL writes the previous one, recently changed rows are cached, and the tables have
// no indexes. When the generation has caught up, the indexes and derived tables are created, and it
// takes over.
//
// Nothing is skipped silently. An event that cannot be decoded or applied, or that contradicts
// earlier events, is found by bisection and set aside with the later events of its stream. Events
// that end rights are applied all the same (docs/decisions/poison.md). An error that is not about
// one event stops the projection, and the status contains the reason. The projector retries without
// limit during outages of the database or the event store.
package projector
