// Package proofs proves events of the log by its Merkle tree, and checks such proofs. It is given
// the tree, because commands never read projections.
package proofs
