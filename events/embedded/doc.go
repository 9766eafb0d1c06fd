// Package embedded is a single-node event store that speaks the EventStoreDB
// gRPC protocol, so that the official clients can be used against it
// unchanged. It serves the services Streams, ServerFeatures and Gossip;
// persistent subscriptions and projections are neither served nor advertised.
//
// # Packages
//
// Package storage is the log on disk: disk opens Pebble, record defines what lies
// in it, revision and ledger decide writes, groupcommit commits them, durable
// reads what is committed, storecheck verifies it. Packages writes and reads
// serve the calls; request, wire, dialect and failure translate between them and
// the protocol. Packages access, http1 and discovery serve who connects.
//
// # Durability
//
// Events live in Pebble. One goroutine writes: it takes every request that is
// waiting, decides each against the ones before it, commits all of them as one
// batch and answers after that batch is synced. There is no linger timer: while
// one group syncs, the next one gathers. After a failed sync the store refuses
// all further writes, because nobody can know what a second sync of the same
// pages would mean; everything acknowledged before stays readable.
//
// Pebble shows a batch to readers before its sync has finished. Every read is
// therefore capped at the durable head, so that no reader ever sees an event
// that a crash could erase.
//
// # Positions
//
// The position of an event behaves like a byte offset in a log: it grows by the
// encoded size of the event before it, it is never dense, and the first event
// is above zero. Commit and prepare position are always equal.
//
// # Subscriptions
//
// A subscription is a cursor. Recent events are taken from a ring in memory,
// older ones from Pebble, in one order; the hand-over between the two can
// neither lose nor repeat an event. A slow reader owns no buffer: it blocks in
// its own connection and continues from Pebble.
package embedded
