// Package queries answers questions from the read models, one file per question. It reads the views
// of the schema linkledger, which show the generation of each projection that serves, and never
// writes.
//
// The read models follow the log by a few milliseconds. Who has just written waits with a
// progress.Waiter until the projections that the question needs have passed the write: Link and
// Stats need links, Redirect needs links and accounts, tag labels need tags, accounts and counters
// need accounts, Dimensions needs dimensions. What was at a moment needs history, and links for
// clicks.
package queries
