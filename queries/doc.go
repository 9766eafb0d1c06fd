// Package queries answers queries from the read models, one file for each query. Questions about
// accounts and people are answered by accountlist, which DB contains. Package queries reads the
// views of the schema linkledger, which show the serving generation of each projection. It MUST NOT
// write.
//
// The read models follow the log by a few milliseconds. A caller that must see a write waits with a
// progress.Waiter until the projections that the query needs have applied the write: Link and Stats
// need links, Redirect needs links and accounts, tag labels need tags, accounts and counters need
// accounts, Dimensions needs dimensions. Queries as of a past moment need history, and for clicks
// also links.
package queries
