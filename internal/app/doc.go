// Package app makes a running service of a configuration: it connects to the backends, wires
// commands, projections, queries and HTTP together, and starts and stops them in the order in which
// they need each other.
package app
