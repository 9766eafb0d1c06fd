// Package history is the projection of what links, tags and accounts were, from which moment to
// which.
package history
