// Package generation has the rows of the generations of a projection: their checkpoints, the leases
// of their owners, and which of them serves.
//
// Another shape of the tables is another generation, as is a rebuild. It is filled beside the one
// that serves, and takes over in one transaction as soon as it has everything that readers have
// seen. The one before is kept up to date for a rollback until it is pruned.
package generation
