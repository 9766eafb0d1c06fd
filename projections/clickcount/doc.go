// Package clickcount passes clicks, resets of the stats and undone resets to a projection that
// counts clicks, in the order in which they change its counters.
package clickcount
