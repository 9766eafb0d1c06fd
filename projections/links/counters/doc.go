// Package counters counts the clicks of links by day and by visitor, and takes resets of the stats
// back and forth.
package counters
