// Package spool is a queue of records on the local disk. It keeps records that must not be lost
// while their destination is slow or unavailable.
//
// Append returns when the record is durable. Oldest and Remove take records out in the order they
// came in. Records that were read and not removed come again after a restart, and a crash may bring
// removed ones back, so the reader MUST recognize records that it has handled before.
//
// # Files
//
// One process at a time uses a folder. It holds the lock on the file "lock". The file "node" holds
// the id of the folder, which is drawn at its first use. Segments, "00000001.spool" and on, each
// begin with a line that names the format. A record is its length, the CRC-32C of what follows, the
// time it was appended, how many items it stands for (each little-endian) and its bytes. Format 1,
// which can be read too, has no number of items. A segment is deleted when its last record has been
// removed.
//
// A crash may leave a partial record at the end of the last segment. It was never acknowledged, and
// is dropped. An unreadable record in another segment is damage of the disk: the segment is kept
// beside the queue under the name "….damaged", and Damaged counts it.
package spool
