// Package events holds the contracts of the log: one struct per event, and the codec that turns
// them into the stored JSON and back.
//
// Stored events never change. An event's type is a literal string with a version
// ("url.created.v1"); a field may be added when its zero value means what its absence meant,
// anything else is a new version. The golden files in testdata hold one body of every version ever
// released, and must decode for ever.
package events
