// Package projections builds the read models from the log.
//
// A projection follows the streams of its prefixes through one filtered subscription, in batches. A batch is one
// transaction: the checkpoint moves by compare-and-swap, the events are folded in memory to one row per key, each table
// takes them in one statement, and a notification goes out with the commit. So an event counts exactly once whatever
// crashes and however many processes run: whoever finds the checkpoint elsewhere has lost and starts over from there.
//
// Nothing is skipped. An event that can't be decoded, or that contradicts what came before it, stops its projection
// right before it; the projection goes on trying, and its Status says why. An outage of the database or of the event
// store is retried for ever.
package projections
