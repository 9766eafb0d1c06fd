// Package proof shows that nobody has altered the log: it is the RFC 6962 Merkle tree over the
// events, the signed heads of that tree, and proofs that rest on a head.
//
// # Leaves
//
// The tree has a leaf for each event of the log, in the order of the log; streams of the event
// store itself, whose names begin with $, are left out. A leaf is the event's line in an export in
// the format ndjson, without the line end (see AppendLine): position, stream, revision, id, type,
// time and the stored bytes of metadata and data. So an export of the whole log holds all leaves,
// and the root hash in its manifest is that of the tree over as many events. Linkledger deletes no
// stream and takes no event out of the log; where the event store is told to, the tree tells.
//
// # Heads
//
// A head is a tlog-checkpoint (c2sp.org/tlog-checkpoint), a note (c2sp.org/signed-note) that is
// signed with Ed25519: the name of the key, how many events the tree has, and its root hash in
// base64, a line each. Whoever keeps a head elsewhere holds a commitment to every event up to
// there. A head says nothing about what its signer was deceived about: it is worth what the signing
// key is worth, and what was altered before the first head was signed nobody can tell.
//
// # Proofs
//
// A file of proofs is lines of JSON. The first has the signed head, the last field of each other
// line is an event, as it is hashed. They are verified with the public key alone.
package proof
