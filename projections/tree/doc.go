// Package tree is the projection of the Merkle tree over the whole log, in tiles.
package tree
