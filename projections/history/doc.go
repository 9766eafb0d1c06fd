// Package history is the projection of the versions of links, tags and accounts, each with the time
// from which it was valid.
package history
