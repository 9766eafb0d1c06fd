// Package eventstore is the only way to the event store: it appends, loads and follows events with
// the protocol stubs that the module of the official EventStoreDB client exports, and outlives what
// that client does not.
//
// The client (v4.2.0) is closed for good by one failed discovery, leaves its callers blocked
// whatever their contexts say, leaks a connection with every reconnect, and does not resubscribe.
// Supervised, with a client lent to one caller at a time, it loads streams at half of the speed of
// one connection that all callers share. So its connection string is what is used of it, and its
// calls are not:
//
//   - Appends go over one BatchAppend call, which the Go client does not use and the clients for
//     other languages use for every write. An append whose outcome is unknown is sent again with
//     the same event ids and the same expected revision, which the server answers from what it
//     already holds.
//   - Reads of streams share a connection, which is replaced after the first sign of an outage.
//   - Reads of the log and subscriptions have a connection each.
//
// Package eventlog defines what the log is made of, metadata what EventStoreDB keeps of a stream,
// and wire the requests and answers. Package node connects, pipeline appends and pages reads over
// the connections that callers share. Packages subscription and logcopy work with a Store.
//
// Events are decoded by hand: the structs that protobuf makes of them cost more than all that is
// done with an event.
//
// All of this is tested against the embedded event store, with TLS, credentials and the gossip of
// its cluster of one. It has not been seen at work against a cluster of several nodes, whose leader
// changes.
package eventstore
