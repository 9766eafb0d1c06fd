// Package verify replays the log into temporary tables, and compares them with those that readers
// see.
package verify
