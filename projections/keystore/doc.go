// Package keystore stores in PostgreSQL what cannot be rebuilt from the log: the keys of accounts,
// which seal their notes in the log, and the secrets that all processes share, such as the one that
// hashes visitors. They lie in the schema linkledger_keys, which is part of a backup.
//
// The read models, in all other schemas, can be dropped at any time. The services then build them
// again from the log and this schema.
package keystore
