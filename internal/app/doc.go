// Package app turns a configuration into a running service. It connects to the backends, wires
// commands, projections, queries and HTTP together, and starts and stops them in the order of their
// dependencies. It MUST NOT start backends.
package app
