// Package rebuild builds new generations of projections while the current ones serve, rolls back to
// earlier generations, and prunes them.
package rebuild
