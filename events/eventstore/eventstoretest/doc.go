// Package eventstoretest gives tests their own event store: the embedded one, over gRPC.
package eventstoretest
