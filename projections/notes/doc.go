// Package notes opens the sealed notes of links for a projection, and erases the notes of an
// account.
//
// An erasure is applied alone, after all events that precede it and before any that follow, because
// it changes the notes in the tables. The same transaction deletes the account's key. So no
// generation can read a note whose event comes after the erasure, whenever and however often the
// generation is built. If a restored backup has brought the key back, the erasure deletes it again.
package notes
