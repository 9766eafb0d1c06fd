// Package keystore stores in PostgreSQL what cannot be rebuilt from the log: the keys of accounts
// and of people, which seal their personal data in the log, the secrets that all processes share,
// such as the one that hashes visitors, and the sessions of browsers. They lie in the schema
// linkledger_keys, which is part of a backup. The events that operators have discarded lie there
// too, and the words by which they have had clicks judged anew. The packages deadletter and
// generation read and write them.
//
// A dev also keeps a copy of the schema in files. The schema is restored from it if an upgrade of
// the operating system takes the PostgreSQL away that can read the database.
//
// The read models, in all other schemas, can be dropped at any time. The services then build them
// again from the log and this schema.
package keystore
