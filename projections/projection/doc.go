// Package projection defines a projection for the engine: the events that it follows, and how a
// batch of them is applied to its tables. It also contains the parsing of event fields and the
// errors that all projections share. It MUST NOT contain a particular projection.
package projection
