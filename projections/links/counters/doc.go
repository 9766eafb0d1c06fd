// Package counters counts the clicks of links by day and by visitor, and applies and undoes resets
// of the stats.
package counters
