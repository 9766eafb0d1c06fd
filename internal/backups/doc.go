// Package backups makes backups of a whole installation on the embedded event store, and restores
// them: the log, the keys in PostgreSQL, and what says where they belong.
package backups
