// Package eventstore is the only way to the event store: it appends, loads and follows events through the official
// EventStoreDB client, and outlives what that client does not.
//
// The client (v4.2.0) is closed for good by one failed discovery, leaves callers blocked whatever their context says,
// and does not resubscribe. So every call runs on a session, a client that a supervisor has connected and probed; the
// first sign of a dead connection retires the session, callers wait for the next one within their own context, and an
// append whose outcome is unknown is sent again with the same event ids and the same expected revision, which the
// server answers from what it already holds.
package eventstore
