// Package eventstore is the only client of the event store: it appends, loads and follows events.
// It uses the protocol stubs of the official EventStoreDB client module, but not the calls of that
// client, and survives outages that the client does not.
//
// The official client (v4.2.0) is closed permanently by one failed discovery, blocks callers
// regardless of their contexts, leaks a connection with every reconnect, and does not resubscribe.
// A supervisor that gives the client to one caller at a time is no way out: streams then load at
// half the speed of one connection that all callers share. This package therefore uses only the
// client's parser of connection strings, and makes its own calls:
//
//   - Appends go over one BatchAppend call, which the Go client does not use and the clients for
//     other languages use for every write. An append whose outcome is unknown is sent again with
//     the same event ids and the same expected revision, and the server answers from what it
//     already stores.
//   - Reads of streams share a connection, which is replaced after the first sign of an outage.
//   - Reads of the log and subscriptions have a connection each.
//
// Package eventlog defines the elements of a log. Package metadata defines the metadata that
// EventStoreDB keeps of a stream. Package wire defines the requests and responses. Package node
// connects to the event store. Package pipeline appends to streams and package pages reads streams,
// each over a connection that all callers share. Package logreader reads and follows the log.
// Packages subscription and logcopy use a Store.
//
// Package wire decodes events without protobuf structs, which would cost more than all other work
// on an event.
//
// The package is tested against the embedded event store, with TLS, credentials and the gossip of
// its cluster of one node. See docs/eventstoredb.md for tests against a cluster.
package eventstore
