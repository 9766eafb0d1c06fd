// Package projections lists the projections of this program, and has the entry points of the
// service and of its operators.
//
// A projection builds one read model from the log. Its package, such as links, says which events it
// follows and how a batch of them changes its tables. The engine does everything else, and knows no
// projection.
package projections
