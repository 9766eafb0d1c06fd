// Package daemon keeps the process of a service running. Neither a signal that does not ask for its
// end nor output that cannot be written ends the process.
package daemon
