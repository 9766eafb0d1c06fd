// Package deadletter sets events aside that a projection cannot apply, with what follows in their
// streams, and applies or discards them later.
package deadletter
