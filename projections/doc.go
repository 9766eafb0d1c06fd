// Package projections lists the projections of this program, and has the entry points for the
// service and for operators.
//
// A projection builds one read model from the log. Its package, such as links, defines which events
// the projection follows and how a batch of events changes its tables. The engine does everything
// else, and MUST NOT depend on any projection.
package projections
