// Package generation stores the generations of a projection: their checkpoints, the leases of their
// owners, and which of them serves. It MUST NOT apply events.
//
// A change of the shape of the tables makes a new generation, and so does a rebuild. The new
// generation is filled beside the one that serves. It takes over in one transaction once it has
// every event that readers have seen. The previous generation stays up to date for a rollback until
// it is pruned.
package generation
