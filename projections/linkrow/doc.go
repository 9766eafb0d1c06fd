// Package linkrow has what the projections of links share: how events change the row of a link, the
// columns of rows in statements, and the sets that a link is in.
package linkrow
