// Package migration has the operator commands that move an installation to another event store:
// they grant the rights that the service needs, and copy the log.
package migration
