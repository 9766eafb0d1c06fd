// Package operators serves the console of operators at the internal address: what needs attention,
// the projections with their builds and the events that they have set aside, the streams of the
// event store, the accounts, and the processes. It does what the commands of the program do, and
// each page shows them.
//
// It demands the session of an operator, and a host that no page of others can have: see Hosts.
package operators
