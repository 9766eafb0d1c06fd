// Package keystore stores in PostgreSQL what cannot be rebuilt from the log: the keys of accounts
// and of people, which seal their personal data in the log, and the secrets that all processes
// share, such as the one that hashes visitors. The data lies in the schema linkledger_durable,
// which a backup contains. Other packages store data in that schema too: signedin has the sessions
// of browsers, deadletter the events that operators have discarded, and generation the words that
// judge clicks anew.
//
// linkledger dev also keeps a copy of the schema in files. If an upgrade of the operating system
// removes the only PostgreSQL that can read the database, the schema is restored from the copy.
//
// The read models, in all other schemas, can be dropped at any time. The services then build them
// again from the log and this schema.
package keystore
