// Package daemon keeps the process of a service running: no signal ends it that does not ask for
// its end, and no output that cannot be written.
package daemon
