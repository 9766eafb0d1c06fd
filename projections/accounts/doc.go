// Package accounts is the projection of the accounts, their keys and members, and of the persons
// who sign in.
//
// If an event cannot be applied, it and the later events of its stream are set aside as dead
// letters, which are tried again later. But an event that ends a right is applied at once all the
// same. So the events of a stream may be applied out of order. The fold therefore decides about
// each event by the changes that precede it in the stream. It recognizes these changes by the
// commit positions in the rows. The result is the same as that of a rebuild, which applies the
// events in the order of the log.
package accounts
