// Package console prints the output of commands as tables, lines or JSON, and shows their progress.
// It escapes texts, so that texts of other programs cannot control a terminal.
package console
