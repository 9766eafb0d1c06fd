// Package auditor has the operator commands that show the history of links from the log, export the
// log, and restore links from it.
package auditor
