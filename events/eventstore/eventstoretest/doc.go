// Package eventstoretest gives tests an event store of their own: the embedded one, spoken to over
// gRPC.
package eventstoretest
