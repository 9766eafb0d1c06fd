// Package notes opens the sealed notes of links for a projection, and erases those of an account.
//
// An erasure is applied alone, after all that precedes it and before anything that follows: what it
// changes are the notes in the tables. Whoever applies it also deletes the key. So no generation
// reads a note that comes after it, when and however often it is built, and a key that a restored
// backup brought back does not stay.
package notes
