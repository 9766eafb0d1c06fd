// Package notes opens the sealed notes of links for a projection, and erases the notes of an
// account.
//
// An erasure is applied alone, after all events that precede it and before any that follow, because
// it changes the notes in the tables. The same transaction deletes the account's key. So no
// generation can read a note that comes after the erasure, whenever and however often the
// generation is built. A key that a restored backup brought back does not stay either.
package notes
