// Package embedded is a single-node event store that speaks the EventStoreDB
// gRPC protocol, so that the official clients can be used against it
// unchanged. It serves the services Streams, ServerFeatures and Gossip. It neither serves nor
// advertises persistent subscriptions and projections.
//
// # Packages
//
// Package storage is the log on disk. It is made of these packages: disk opens Pebble, record
// defines the keys and values, revision and ledger decide which writes are accepted, groupcommit
// commits them, durable reads committed events, and storecheck verifies them. Packages writes and
// reads serve the calls of clients. Packages request, wire, dialect and failure translate between
// these two and the protocol. Package access authenticates clients, http1 answers requests over
// HTTP/1.1, and discovery describes the server to clients.
//
// # Durability
//
// Events are stored in Pebble. One goroutine takes all waiting write requests, decides in order
// which of them to accept, and applies these as one batch. A second goroutine answers the requests
// after that batch is synced. There is no linger timer: while one group syncs, requests for the
// next group queue up. After a failed sync the store refuses all further writes, because a second
// sync of the same pages does not prove that they are stored, even if it succeeds. All events that
// were acknowledged before stay readable.
//
// Pebble shows a batch to readers before its sync has finished. Every read is
// therefore capped at the durable head, which is the position of the last synced event. So no
// reader sees an event that a crash could erase.
//
// # Positions
//
// The position of an event behaves like a byte offset in a log. The difference between the
// positions of two successive events is the encoded size of the first one, so positions are not
// dense. The position of the first event is above zero. Commit position and prepare position are
// always equal.
//
// # Subscriptions
//
// A subscription is a cursor. It reads recent events from memory and older events from Pebble, in
// the same order. A switch between the two neither loses nor repeats an event. A slow subscription
// needs no buffer of its own. It blocks on its connection and continues from Pebble.
package embedded
