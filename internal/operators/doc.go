// Package operators serves the console of operators at the internal address: what needs attention,
// the projections with their builds and the events that they have set aside, the streams of the
// event store, the accounts, and the processes. The console does what commands of the program do,
// and each page shows these commands.
//
// The console demands the session of an operator. It also demands a host name that no foreign page
// can have: see Hosts.
package operators
