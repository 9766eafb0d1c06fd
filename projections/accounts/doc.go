// Package accounts is the projection of the accounts, their keys and members, and of the persons
// who sign in.
//
// An event that ends a right is applied although earlier events of its stream are set aside, so
// these may be applied after it. The fold decides about each event by what was before it in the
// stream, which the commit positions in the rows tell. So the tables do not depend on when an event
// that was set aside is applied: then, or in the order of the log by a rebuild.
package accounts
