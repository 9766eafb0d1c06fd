// Package installation gives operator commands access to a running installation: it finds the
// backends and opens the event store, the read models or both.
package installation
