// Package backups makes and restores backups of a whole installation on the embedded event store:
// the log, the keys in PostgreSQL, and a manifest that says to which log and version they belong.
package backups
