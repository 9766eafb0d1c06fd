// Package projectionstest runs projections in tests: on a real PostgreSQL, and by a projector alone
// or with a real event store.
package projectionstest
