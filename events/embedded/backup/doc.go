// Package backup makes backups of the folder of an event store, and compares a backup with its
// manifest. A backup must match its manifest. The folder of a store that runs, or has run, need not
// match one, because its files change.
package backup
