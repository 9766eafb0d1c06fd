// Package sessionadmin signs browsers in to the console for operators: it makes one-time links, and
// lists and ends sessions. It MUST NOT change the log.
package sessionadmin
