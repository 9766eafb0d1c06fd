// Package projection defines what a projection is to the engine: which events it follows, and how a
// batch of them gets into its tables. It also has what all projections need to read events: the
// parsing of their fields, and the errors about them.
package projection
