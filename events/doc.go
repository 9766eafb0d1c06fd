// Package events defines the contracts of the log: one struct per event, with the names of its
// stored JSON. Package codec encodes and decodes the events. Package events MUST NOT import
// packages that use it.
//
// Stored events never change. The type of an event is a literal string with a version
// ("url.created.v1"). A field may be added if its zero value means the same as its absence. Any
// other change needs a new version. The golden files in testdata hold one body of every version
// that was ever released, and MUST stay decodable.
package events
