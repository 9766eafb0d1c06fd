// Package rebuild builds new generations of projections beside those that serve, goes back to
// earlier ones, and removes them.
package rebuild
