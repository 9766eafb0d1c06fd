// Package proof makes alterations of the log detectable. It defines the RFC 6962 Merkle tree over
// the events, the signed heads of that tree, and proofs that are verified with a head.
//
// # Leaves
//
// The tree has one leaf per event of the log, in the order of the log. The tree leaves out streams
// of the event store itself, whose names begin with $. A leaf is the line of the event in an ndjson
// export, without the line end (see package leaf): position, stream, revision, id, type, time and
// the stored bytes of metadata and data. An export of the whole log therefore contains all leaves,
// and its manifest has the root hash of the tree over the same number of events. Linkledger deletes
// no stream and removes no event from the log. If someone makes the event store do so, a comparison
// of the log with the tree detects it.
//
// # Heads
//
// A head is a tlog-checkpoint (c2sp.org/tlog-checkpoint), which is a note (c2sp.org/signed-note)
// signed with Ed25519. It has three lines: the name of the key, the number of events in the tree,
// and its root hash in base64. A head that is stored outside the installation commits the log to
// every event up to that head. A head is only as trustworthy as the signing key, and it does not
// reveal what was altered before the first head was signed.
//
// # Proofs
//
// A file of proofs consists of lines of JSON. The first line has the signed head. In the line of an
// event, the last field is the event itself, with exactly the bytes that are hashed. A file is
// verified with the public key alone.
package proof
