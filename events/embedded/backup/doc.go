// Package backup makes backups of the folder of an event store, and compares them with what their
// manifests say. A backup must end where its manifest says. The folder of a store that runs, or has
// run, may end anywhere.
package backup
