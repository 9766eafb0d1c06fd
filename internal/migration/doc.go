// Package migration moves an installation to another event store: it grants what the service needs
// there, and copies the log.
package migration
