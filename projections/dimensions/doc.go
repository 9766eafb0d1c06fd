// Package dimensions is the projection of the clicks by day and by what they tell of their
// visitors.
package dimensions
