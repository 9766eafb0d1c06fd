// Package spool is a queue of records on the local disk, for what must not be lost while the place
// it belongs to is slow or away.
//
// Append returns when the record is durable; Oldest and Remove take records out in the order they
// came in. Records that were read and not removed come again after a restart, and a crash may bring
// removed ones back: the reader must recognise what was done before.
//
// # Files
//
// A folder has one user at a time, who holds the lock on the file "lock". The file "node" holds the
// id under which this folder's records are known, drawn once. Segments, "00000001.spool" and on,
// each begin with a line that names the format; a record is its length, the CRC-32C of what
// follows, the time it was appended, how many items it stands for (each little-endian) and its
// bytes. Format 1, which is read too, has no number of items. A segment is deleted when its last
// record has been removed. A crash may leave a record that is cut off at the end of a segment: it
// was never acknowledged, and is passed over. What cannot be read in front of other segments is
// damage of the disk: the segment is kept beside the queue under the name "….damaged", and Damaged
// tells.
package spool
