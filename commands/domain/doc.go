// Package domain holds the rules of links, tags and plans. A type folds the events of one stream
// into a state (Link, Tags), and its methods decide which events a command makes of that state.
// Nothing here reads a clock, a store or a context, so that each rule can be tested with values
// alone. It imports events and tagexpr only.
package domain
