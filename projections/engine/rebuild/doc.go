// Package rebuild builds new generations of projections beside those that serve, rolls back to
// earlier ones, and prunes them.
package rebuild
