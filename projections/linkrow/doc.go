// Package linkrow has what the projections of links share: what events do to the row of a link, its
// columns in statements, and the sets that it is in.
package linkrow
