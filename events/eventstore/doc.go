// Package eventstore is the only way to the event store: it appends, loads and follows events with the official
// EventStoreDB client and the protocol stubs that its module exports, and outlives what the client does not.
//
// The client (v4.2.0) is closed for good by one failed discovery, leaves its callers blocked whatever their contexts
// say, leaks a connection with every reconnect, and does not resubscribe. So reads of streams get a client each, lent to
// one caller at a time and closed at the first sign of an outage. Reads of the log and subscriptions are calls of the
// protocol over connections of their own, and their events are decoded by hand: the structs that protobuf makes of them
// cost more than all that is done with an event. Appends go over one BatchAppend call of the protocol, which the Go client
// does not use and the clients for other languages use for every write. An append whose outcome is unknown is sent again
// with the same event ids and the same expected revision, which the server answers from what it already holds.
//
// All of this is tested against the embedded event store, with TLS, credentials and the gossip of its cluster of one. It
// has not been seen at work against a cluster of several nodes, whose leader changes.
package eventstore
