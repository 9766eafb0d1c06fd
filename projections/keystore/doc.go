// Package keystore stores in PostgreSQL what cannot be rebuilt from the log: the keys of accounts
// and of people, which seal their personal data in the log, and the secrets that all processes
// share, such as the one that hashes visitors. They lie in the schema linkledger_keys, a part of a
// backup. The package signedin has the sessions of browsers there. The package deadletter has the
// events that operators have discarded, and generation the words that judge clicks anew.
//
// A dev also keeps a copy of the schema in files. The schema is restored from it if an upgrade of
// the operating system takes the PostgreSQL away that can read the database.
//
// The read models, in all other schemas, can be dropped at any time. The services then build them
// again from the log and this schema.
package keystore
