// Package keyfile has the master key, which wraps the keys of accounts, and the files of a copy of
// the schema linkledger_durable, which are sealed with it.
package keyfile
