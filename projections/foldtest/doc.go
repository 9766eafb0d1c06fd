// Package foldtest applies events to the tables of one projection in tests, without an event store:
// in all ways in which an engine may deliver them, and with events that cannot be applied.
package foldtest
