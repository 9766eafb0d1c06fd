// Package auditor tells auditors what the log says of links, exports it, and changes links back to
// what they were.
package auditor
