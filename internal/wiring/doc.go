// Package wiring makes the parts of a service from an event store, a database and a configuration.
// It is the one place that gives commands their rules: the service, the commands of operators and
// tests get the same parts. It starts nothing and waits for nothing.
package wiring
