// Package deadletter stores the events that a projection cannot apply, together with the later
// events of their streams. Operators retry or discard them.
package deadletter
