// Package proofs proves that the log has certain events, with the Merkle tree over the log, and
// checks such proofs. Callers pass the tree to the package, because commands never read
// projections.
package proofs
